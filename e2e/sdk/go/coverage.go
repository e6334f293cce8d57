package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	// Every package of the SDK that has services. Importing one registers its descriptors.
	_ "chainguard.dev/sdk/proto/chainguard/platform/actions/v1alpha1"
	_ "chainguard.dev/sdk/proto/chainguard/platform/advisory/v2"
	_ "chainguard.dev/sdk/proto/chainguard/platform/advisory/v2beta1"
	_ "chainguard.dev/sdk/proto/chainguard/platform/events/v2"
	_ "chainguard.dev/sdk/proto/chainguard/platform/events/v2beta1"
	_ "chainguard.dev/sdk/proto/chainguard/platform/guardener/v1alpha1"
	_ "chainguard.dev/sdk/proto/chainguard/platform/iam/v2"
	_ "chainguard.dev/sdk/proto/chainguard/platform/libraries/v2"
	_ "chainguard.dev/sdk/proto/chainguard/platform/libraries/v2beta1"
	_ "chainguard.dev/sdk/proto/chainguard/platform/ping/v2"
	_ "chainguard.dev/sdk/proto/chainguard/platform/ping/v2beta1"
	_ "chainguard.dev/sdk/proto/chainguard/platform/registry/v2"
	_ "chainguard.dev/sdk/proto/chainguard/platform/skills/v1alpha1"
	_ "chainguard.dev/sdk/proto/chainguard/platform/vulnerabilities/v2"
	_ "chainguard.dev/sdk/proto/chainguard/platform/vulnerabilities/v2beta1"
	_ "chainguard.dev/sdk/proto/platform/actions/v1"
)

// Calls every rpc of every service in the SDK with an empty request. A served rpc must succeed, or return an error about
// the request; any other rpc must return Unimplemented with a message.
func testCoverage(ctx context.Context, run *testRun, conn grpc.ClientConnInterface, server contract) {
	var served, all int
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		for at := range file.Services().Len() {
			service := file.Services().Get(at)
			if !strings.HasPrefix(string(service.FullName()), vendorPrefix) {
				continue
			}
			run.step("rpcs of "+string(service.FullName()), func() (err error) {
				for at := range service.Methods().Len() {
					method := service.Methods().Get(at)
					isServed := server.method(method) != nil
					all++
					if isServed {
						served++
					}
					err = errors.Join(err, answersAsServed(ctx, conn, method, isServed))
				}
				return err
			})
		}
		return true
	})
	fmt.Println("     ", served, "of", all, "rpcs are served")
}

func answersAsServed(
	ctx context.Context, conn grpc.ClientConnInterface, method protoreflect.MethodDescriptor, isServed bool,
) error {
	reply := status.Convert(callEmpty(ctx, conn, method))
	switch code := reply.Code(); {
	case code == codes.Internal || code == codes.Unknown || code == codes.DataLoss:
	case isServed && code != codes.Unimplemented:
		return nil
	case !isServed && code == codes.Unimplemented && reply.Message() != "":
		return nil
	}
	return fmt.Errorf("%s (served: %t) answers %s: %s", method.FullName(), isServed, reply.Code(), reply.Message())
}

func callEmpty(ctx context.Context, conn grpc.ClientConnInterface, method protoreflect.MethodDescriptor) error {
	path := fmt.Sprintf("/%s/%s", method.Parent().FullName(), method.Name())
	request, reply := dynamicpb.NewMessage(method.Input()), dynamicpb.NewMessage(method.Output())
	if !method.IsStreamingServer() {
		return conn.Invoke(ctx, path, request, reply)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, path)
	if err != nil {
		return err
	}
	if err := stream.SendMsg(request); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err := errors.Join(stream.CloseSend(), stream.RecvMsg(reply)); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}
