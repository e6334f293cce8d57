package main

import (
	"context"

	iam "chainguard.dev/sdk/proto/chainguard/platform/iam/v2"
	"google.golang.org/protobuf/proto"
)

// One kind is enough: v2 is another name for v2beta1, and the comparison of contracts covers the rest.
func groupLifecycleV2(ctx context.Context, c iam.Clients, parent string) lifecycle {
	made := &iam.Group{Name: "team", Description: "makes things"}
	changed := &iam.Group{Name: "crew", Description: "mends things"}
	groups := c.GroupsService()
	return lifecycle{
		kind:    "v2 group",
		made:    expected{made},
		changed: expected{changed},
		create: func() (proto.Message, error) {
			return groups.CreateGroup(ctx, &iam.CreateGroupRequest{Parent: parent, Group: made})
		},
		get: func(id string) (proto.Message, error) { return groups.GetGroup(ctx, &iam.GetGroupRequest{Uid: id}) },
		list: func() ([]proto.Message, error) {
			return messages(c.ListGroupsAll(ctx, &iam.ListGroupsRequest{Uidp: childrenOf(parent)}))
		},
		update: func(id string) (proto.Message, error) {
			group := proto.CloneOf(changed)
			group.Uid = id
			return groups.UpdateGroup(ctx, &iam.UpdateGroupRequest{Group: group, UpdateMask: groupFields})
		},
		remove: func(id string) error {
			_, err := groups.DeleteGroup(ctx, &iam.DeleteGroupRequest{Uid: id})
			return err
		},
	}
}
