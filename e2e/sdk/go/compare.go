package main

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// What a resource is called by: v1 knows an account association by its group.
func idOf(m proto.Message) string {
	r := m.ProtoReflect()
	for _, name := range []protoreflect.Name{"uid", "id", "group"} {
		if f := r.Descriptor().Fields().ByName(name); f != nil {
			return r.Get(f).String()
		}
	}
	return ""
}

// What must be told of a resource, in each of the forms that it has: some have another in lists of v1.
type told []proto.Message

func (t told) by(got proto.Message) error {
	for _, want := range t {
		if want.ProtoReflect().Descriptor() == got.ProtoReflect().Descriptor() {
			return covers(want, got)
		}
	}
	return fmt.Errorf("nobody said what %s should tell", got.ProtoReflect().Descriptor().FullName())
}

// Whatever is wanted was got. More may have come, but nothing that the SDK does not know.
func covers(want, got proto.Message) error {
	if err := known(got.ProtoReflect()); err != nil {
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

// Fields that the pinned SDK does not have; clients pass over them.
var newer = map[protoreflect.FullName][]protowire.Number{
	"chainguard.platform.iam.v2beta1.GroupInvite": {1000, 1001}, // update_time, url
}

func known(m protoreflect.Message) (err error) {
	name := m.Descriptor().FullName()
	for rest := m.GetUnknown(); len(rest) > 0; {
		number, _, size := protowire.ConsumeField(rest)
		if size < 0 || !slices.Contains(newer[name], number) {
			return fmt.Errorf("%s has a field that the SDK does not know: %x", name, rest)
		}
		rest = rest[size:]
	}
	m.Range(func(f protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case f.Message() == nil || f.IsMap():
		case f.IsList():
			for at := 0; at < value.List().Len() && err == nil; at++ {
				err = known(value.List().Get(at).Message())
			}
		default:
			err = known(value.Message())
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
