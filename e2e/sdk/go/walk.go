package main

import (
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Steps that were gone, and what went wrong with some.
type walk struct {
	count  int
	faults []error
}

// Goes a step and tells of it; answers whether all went well.
func (w *walk) step(name string, do func() error) bool {
	w.count++
	err := do()
	if err == nil {
		fmt.Println("ok  ", name)
		return true
	}
	fmt.Println("FAIL", name)
	w.faults = append(w.faults, fmt.Errorf("%s: %w", name, err))
	return false
}

func (w *walk) verdict() error {
	if len(w.faults) > 0 {
		return errors.Join(w.faults...)
	}
	fmt.Println(w.count, "steps, all as expected")
	return nil
}

// How the clients of one version make, read, change and remove one kind of resource.
type life struct {
	kind   string
	create func() (proto.Message, error)
	get    func(id string) (proto.Message, error)
	list   func() ([]proto.Message, error)
	// None where the kind cannot be changed.
	update func(id string) (proto.Message, error)
	remove func(id string) error
	// What must be told after it was made, and after it was changed.
	made, changed told
}

// From its making to its end. Tools go on by what they were told last, so every reading must tell the same.
func (w *walk) live(l life) {
	var id string
	isMade := w.step(l.kind+" create", func() error {
		made, err := l.create()
		if err != nil {
			return err
		}
		id = idOf(made)
		if id == "" {
			return errors.New("it has no id")
		}
		return l.made.by(made)
	})
	if id == "" {
		return
	}
	if isMade {
		w.read(l, id, l.made)
	}
	if l.update != nil {
		w.step(l.kind+" update", func() error {
			changed, err := l.update(id)
			if err != nil {
				return err
			}
			return l.changed.by(changed)
		})
		w.read(l, id, l.changed)
	}
	w.step(l.kind+" delete", func() error { return l.remove(id) })
	w.step(l.kind+" is gone", func() error { return w.isGone(l, id) })
}

func (w *walk) read(l life, id string, want told) {
	var got proto.Message
	w.step(l.kind+" get", func() (err error) {
		if got, err = l.get(id); err != nil {
			return err
		}
		return want.by(got)
	})
	w.step(l.kind+" list", func() error {
		items, err := l.list()
		if err != nil {
			return err
		}
		for _, item := range items {
			if idOf(item) == id {
				return same(got, item)
			}
		}
		return fmt.Errorf("%s is not among %d", id, len(items))
	})
}

// Destroying once more is no error to tools, whether it answers that or that there is nothing.
func (w *walk) isGone(l life, id string) error {
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

// v1 gets one by listing its id, and tells that it is gone by listing none.
func only[T proto.Message](items []T, err error) (proto.Message, error) {
	switch {
	case err != nil:
		return nil, err
	case len(items) == 0:
		return nil, status.Error(codes.NotFound, "none is listed")
	case len(items) > 1:
		return nil, fmt.Errorf("one was asked for and %d are listed", len(items))
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
