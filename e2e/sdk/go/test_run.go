package main

import (
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// The number of steps, and the errors of those that failed.
type testRun struct {
	count    int
	failures []error
}

// Runs a step and prints its result. Returns whether it succeeded.
func (run *testRun) step(name string, do func() error) bool {
	run.count++
	err := do()
	if err == nil {
		fmt.Println("ok  ", name)
		return true
	}
	fmt.Println("FAIL", name)
	run.failures = append(run.failures, fmt.Errorf("%s: %w", name, err))
	return false
}

func (run *testRun) result() error {
	if len(run.failures) > 0 {
		return errors.Join(run.failures...)
	}
	fmt.Println(run.count, "steps, all as expected")
	return nil
}

// The calls of one version that create, read, update and delete one kind of resource.
type lifecycle struct {
	kind   string
	create func() (proto.Message, error)
	get    func(id string) (proto.Message, error)
	list   func() ([]proto.Message, error)
	// Nil if the kind cannot be updated.
	update func(id string) (proto.Message, error)
	remove func(id string) error
	// The fields that responses must contain after the create, and after the update.
	made, changed expected
}

// Creates, reads, updates and deletes a resource. Clients such as the Terraform provider compare responses with their
// state, so a Get and a list must return the same.
func (run *testRun) testLifecycle(l lifecycle) {
	var id string
	isMade := run.step(l.kind+" create", func() error {
		made, err := l.create()
		if err != nil {
			return err
		}
		id = idOf(made)
		if id == "" {
			return errors.New("the response has no id")
		}
		return l.made.check(made)
	})
	if id == "" {
		return
	}
	if isMade {
		run.read(l, id, l.made)
	}
	if l.update != nil {
		run.step(l.kind+" update", func() error {
			changed, err := l.update(id)
			if err != nil {
				return err
			}
			return l.changed.check(changed)
		})
		run.read(l, id, l.changed)
	}
	run.step(l.kind+" delete", func() error { return l.remove(id) })
	run.step(l.kind+" is gone", func() error { return run.isGone(l, id) })
}

func (run *testRun) read(l lifecycle, id string, want expected) {
	var got proto.Message
	run.step(l.kind+" get", func() (err error) {
		if got, err = l.get(id); err != nil {
			return err
		}
		return want.check(got)
	})
	run.step(l.kind+" list", func() error {
		items, err := l.list()
		if err != nil {
			return err
		}
		for _, item := range items {
			if idOf(item) == id {
				return same(got, item)
			}
		}
		return fmt.Errorf("%s is not among the %d listed", id, len(items))
	})
}

// Clients accept both results of a second delete: success and NotFound.
func (run *testRun) isGone(l lifecycle, id string) error {
	if _, err := l.get(id); status.Code(err) != codes.NotFound {
		return fmt.Errorf("wanted NotFound, got %v", err)
	}
	items, err := l.list()
	if err != nil {
		return err
	}
	for _, item := range items {
		if idOf(item) == id {
			return fmt.Errorf("%s is still listed", id)
		}
	}
	if err := l.remove(id); err != nil && status.Code(err) != codes.NotFound {
		return fmt.Errorf("deleting it again: %w", err)
	}
	return nil
}

// In v1, a Get is a list with an id. It is empty if the resource does not exist.
func only[T proto.Message](items []T, err error) (proto.Message, error) {
	switch {
	case err != nil:
		return nil, err
	case len(items) == 0:
		return nil, status.Error(codes.NotFound, "none is listed")
	case len(items) > 1:
		return nil, fmt.Errorf("%d are listed, not 1", len(items))
	}
	return items[0], nil
}

func messages[T proto.Message](items []T, err error) ([]proto.Message, error) {
	all := make([]proto.Message, len(items))
	for at, item := range items {
		all[at] = item
	}
	return all, err
}
