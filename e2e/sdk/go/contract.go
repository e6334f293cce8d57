package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"chainguard.dev/sdk/proto/platform"
	reflection "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

const vendorPrefix = "chainguard."

// Fields and enum values of the SDK that the server does not have: none. It would ignore them in requests and never
// return them.
var knownGaps = map[protoreflect.FullName]bool{}

// The services of the server and the files that describe them, read by reflection.
type contract struct {
	services []string
	files    *protoregistry.Files
}

// The server's descriptor of an rpc of the SDK, or nil if it is not served. v2 is another name for v2beta1.
func (c contract) method(theirs protoreflect.MethodDescriptor) protoreflect.MethodDescriptor {
	name := strings.TrimPrefix(string(theirs.Parent().FullName()), vendorPrefix)
	ours, err := c.files.FindDescriptorByName(protoreflect.FullName(strings.Replace(name, ".v2.", ".v2beta1.", 1)))
	if err != nil {
		return nil
	}
	return ours.(protoreflect.ServiceDescriptor).Methods().ByName(theirs.Name())
}

// Compares the descriptors of the server with those of the SDK: every message and field that both have must be the same
// on the wire.
func testContract(ctx context.Context, run *testRun, c platform.Clients) (server contract) {
	run.step("reflection", func() (err error) {
		server.services, server.files, err = reflect(ctx, reflection.NewServerReflectionClient(c.Connection()))
		return err
	})
	for _, name := range server.services {
		for _, theirName := range namesInSDK(name) {
			theirs, err := protoregistry.GlobalFiles.FindDescriptorByName(theirName)
			if err != nil {
				continue // not in the SDK
			}
			run.step("contract of "+string(theirName), func() error {
				ours, err := server.files.FindDescriptorByName(protoreflect.FullName(name))
				if err != nil {
					return err
				}
				return sameService(ours.(protoreflect.ServiceDescriptor), theirs.(protoreflect.ServiceDescriptor))
			})
		}
	}
	return server
}

func namesInSDK(name string) []protoreflect.FullName {
	names := []protoreflect.FullName{protoreflect.FullName(vendorPrefix + name)}
	if v2 := strings.Replace(name, ".v2beta1.", ".v2.", 1); v2 != name {
		names = append(names, protoreflect.FullName(vendorPrefix+v2))
	}
	return names
}

// The names of the services, and the files that describe them.
func reflect(ctx context.Context, c reflection.ServerReflectionClient) ([]string, *protoregistry.Files, error) {
	stream, err := c.ServerReflectionInfo(ctx)
	if err != nil {
		return nil, nil, err
	}
	ask := func(request *reflection.ServerReflectionRequest) (*reflection.ServerReflectionResponse, error) {
		if err := stream.Send(request); err != nil {
			return nil, err
		}
		return stream.Recv()
	}
	answer, err := ask(&reflection.ServerReflectionRequest{
		MessageRequest: &reflection.ServerReflectionRequest_ListServices{},
	})
	if err != nil {
		return nil, nil, err
	}
	var names []string
	set := map[string]*descriptorpb.FileDescriptorProto{}
	for _, service := range answer.GetListServicesResponse().GetService() {
		names = append(names, service.GetName())
		answer, err := ask(&reflection.ServerReflectionRequest{
			MessageRequest: &reflection.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: service.GetName()},
		})
		if err != nil {
			return nil, nil, err
		}
		for _, bytes := range answer.GetFileDescriptorResponse().GetFileDescriptorProto() {
			file := &descriptorpb.FileDescriptorProto{}
			if err := proto.Unmarshal(bytes, file); err != nil {
				return nil, nil, err
			}
			set[file.GetName()] = file
		}
	}
	all := &descriptorpb.FileDescriptorSet{}
	for _, file := range set {
		all.File = append(all.File, file)
	}
	// Reflection does not return files that contain only options.
	files, err := protodesc.FileOptions{AllowUnresolvable: true}.NewFiles(all)
	return names, files, errors.Join(err, stream.CloseSend())
}

func sameService(ours, theirs protoreflect.ServiceDescriptor) (err error) {
	seen := map[protoreflect.FullName]bool{}
	for at := range ours.Methods().Len() {
		method := ours.Methods().Get(at)
		other := theirs.Methods().ByName(method.Name())
		if other == nil {
			continue
		}
		if method.IsStreamingServer() != other.IsStreamingServer() {
			err = errors.Join(err, fmt.Errorf("only one of the two streams %s", method.Name()))
		}
		err = errors.Join(err,
			sameMessage(method.Input(), other.Input(), seen), sameMessage(method.Output(), other.Output(), seen))
	}
	return err
}

func sameMessage(ours, theirs protoreflect.MessageDescriptor, seen map[protoreflect.FullName]bool) (err error) {
	if seen[ours.FullName()] {
		return nil
	}
	seen[ours.FullName()] = true
	for at := range theirs.Fields().Len() {
		want := theirs.Fields().Get(at)
		got := ours.Fields().ByNumber(want.Number())
		switch {
		case (got == nil) != knownGaps[want.FullName()]:
			err = errors.Join(err, fmt.Errorf("%s is served: %t", want.FullName(), got != nil))
		case got != nil:
			err = errors.Join(err, sameField(got, want, seen))
		}
	}
	return err
}

func sameField(ours, theirs protoreflect.FieldDescriptor, seen map[protoreflect.FullName]bool) error {
	describe := func(f protoreflect.FieldDescriptor) string {
		return fmt.Sprint(f.JSONName(), " ", f.Kind(), " ", f.Cardinality(), " ", f.IsMap())
	}
	if describe(ours) != describe(theirs) {
		return fmt.Errorf("%s is %q, not %q", theirs.FullName(), describe(ours), describe(theirs))
	}
	if theirs.Enum() != nil {
		return sameEnum(ours.Enum(), theirs.Enum())
	}
	if theirs.Message() != nil {
		return sameMessage(ours.Message(), theirs.Message(), seen)
	}
	return nil
}

func sameEnum(ours, theirs protoreflect.EnumDescriptor) (err error) {
	for at := range theirs.Values().Len() {
		want := theirs.Values().Get(at)
		got := ours.Values().ByNumber(want.Number())
		switch {
		case (got == nil) != knownGaps[want.FullName()]:
			err = errors.Join(err, fmt.Errorf("%s is served: %t", want.FullName(), got != nil))
		case got != nil && got.Name() != want.Name():
			err = errors.Join(err, fmt.Errorf("%s is %s", want.FullName(), got.Name()))
		}
	}
	return err
}
