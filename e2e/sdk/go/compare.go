package main

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// The uid of a resource. In v1, it is the field `id` or, for an account association, `group`.
func idOf(m proto.Message) string {
	r := m.ProtoReflect()
	for _, name := range []protoreflect.Name{"uid", "id", "group"} {
		if f := r.Descriptor().Fields().ByName(name); f != nil {
			return r.Get(f).String()
		}
	}
	return ""
}

// The fields that responses must contain: one message for each type in which the resource is returned. In v1, lists of
// some kinds have another type than the other methods.
type expected []proto.Message

func (e expected) check(got proto.Message) error {
	for _, want := range e {
		if want.ProtoReflect().Descriptor() == got.ProtoReflect().Descriptor() {
			return covers(want, got)
		}
	}
	return fmt.Errorf("no expected fields for the type %s", got.ProtoReflect().Descriptor().FullName())
}

// Returns an error if `got` lacks a field of `want` or has another value in it, or has a field that the SDK does not know.
func covers(want, got proto.Message) error {
	if err := hasOnlyKnownFields(got.ProtoReflect()); err != nil {
		return err
	}
	return coversAt("", want.ProtoReflect(), got.ProtoReflect())
}

func coversAt(path string, want, got protoreflect.Message) (err error) {
	want.Range(func(f protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		name := path + string(f.Name())
		isMessage := f.Message() != nil && !f.IsList() && !f.IsMap()
		switch {
		case !got.Has(f):
			err = fmt.Errorf("%s is missing", name)
		case isMessage:
			err = coversAt(name+".", value.Message(), got.Get(f).Message())
		case !value.Equal(got.Get(f)):
			err = fmt.Errorf("%s is %v, not %v", name, got.Get(f), value)
		}
		return err == nil
	})
	return err
}

// Fields that Stemma has added. The pinned SDK does not know them, and clients ignore them.
var addedFields = map[protoreflect.FullName][]protowire.Number{
	"chainguard.platform.iam.v2beta1.GroupInvite": {1000, 1001}, // update_time, url
}

func hasOnlyKnownFields(m protoreflect.Message) (err error) {
	name := m.Descriptor().FullName()
	for rest := m.GetUnknown(); len(rest) > 0; {
		number, _, size := protowire.ConsumeField(rest)
		if size < 0 || !slices.Contains(addedFields[name], number) {
			return fmt.Errorf("%s has a field that the SDK does not know: %x", name, rest)
		}
		rest = rest[size:]
	}
	m.Range(func(f protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case f.Message() == nil || f.IsMap():
		case f.IsList():
			for at := 0; at < value.List().Len() && err == nil; at++ {
				err = hasOnlyKnownFields(value.List().Get(at).Message())
			}
		default:
			err = hasOnlyKnownFields(value.Message())
		}
		return err == nil
	})
	return err
}

func same(a, b proto.Message) error {
	if proto.Equal(a, b) {
		return nil
	}
	return fmt.Errorf("got { %s } and listed { %s }", prototext.Format(a), prototext.Format(b))
}
