package main

import (
	"context"
	"fmt"

	iam "chainguard.dev/sdk/proto/chainguard/platform/iam/v2beta1"
	iam1 "chainguard.dev/sdk/proto/platform/iam/v1"
	"google.golang.org/protobuf/proto"
)

// Mappings of external groups to roles, in v2beta1 and v1.
func walkExternalGroups(ctx context.Context, w *walk, at place, c clients) {
	provider, remove := makeProvider(ctx, w, c.v2.IAM(), at.group)
	role := builtIn(ctx, w, c.v2.IAM(), "viewer")
	w.live(mappingLife2(ctx, c.v2.IAM(), provider, at.group, role))
	w.live(mappingLife1(ctx, c.v1.IAM().ExternalGroupRoleMappings(), provider, at.group, role))
	w.step("mappings batch delete", func() error { return batchDelete(ctx, c, provider, at.group, role) })
	w.step("identity provider with external groups delete", remove)
}

// Each version deletes what the other has made.
func batchDelete(ctx context.Context, c clients, provider, scope, role string) error {
	v2, v1 := c.v2.IAM().ExternalGroupRoleMappingsService(), c.v1.IAM().ExternalGroupRoleMappings()
	one, err := v1.Create(ctx, &iam1.CreateExternalGroupRoleMappingRequest{
		ParentId: provider, Mapping: &iam1.ExternalGroupRoleMapping{ExternalGroupId: "ops", RoleUidp: role, Scope: scope},
	})
	if err != nil {
		return err
	}
	gone, err := v2.BatchDeleteExternalGroupRoleMappings(ctx,
		&iam.BatchDeleteExternalGroupRoleMappingsRequest{Parent: provider, Names: []string{one.GetId()}})
	if err != nil {
		return err
	}
	two, err := v2.CreateExternalGroupRoleMapping(ctx, &iam.CreateExternalGroupRoleMappingRequest{
		Parent:                   provider,
		ExternalGroupRoleMapping: &iam.ExternalGroupRoleMapping{ExternalGroupId: "ops", RoleUid: role, Scope: scope},
	})
	if err != nil {
		return err
	}
	goneToo, err := v1.BatchDelete(ctx,
		&iam1.BatchDeleteExternalGroupRoleMappingsRequest{ParentId: provider, Ids: []string{two.GetUid()}})
	if err == nil && len(gone.GetExternalGroupRoleMappings())+len(goneToo.GetItems()) != 2 {
		err = fmt.Errorf("%v and %v are deleted", gone, goneToo)
	}
	return err
}

func mappingLife2(ctx context.Context, c iam.Clients, provider, scope, role string) life {
	made := &iam.ExternalGroupRoleMapping{ExternalGroupId: "engineers", RoleUid: role, Scope: scope}
	shown := proto.CloneOf(made)
	shown.IdentityProviderUid = provider
	mappings := c.ExternalGroupRoleMappingsService()
	return life{
		kind: "v2beta1 external group role mapping",
		made: told{shown},
		create: func() (proto.Message, error) {
			return mappings.CreateExternalGroupRoleMapping(ctx,
				&iam.CreateExternalGroupRoleMappingRequest{Parent: provider, ExternalGroupRoleMapping: made})
		},
		get: func(id string) (proto.Message, error) {
			return mappings.GetExternalGroupRoleMapping(ctx, &iam.GetExternalGroupRoleMappingRequest{Uid: id})
		},
		list: func() ([]proto.Message, error) {
			return messages(c.ListExternalGroupRoleMappingsAll(ctx,
				&iam.ListExternalGroupRoleMappingsRequest{IdentityProviderUid: provider}))
		},
		remove: func(id string) error {
			_, err := mappings.DeleteExternalGroupRoleMapping(ctx, &iam.DeleteExternalGroupRoleMappingRequest{Uid: id})
			return err
		},
	}
}

func mappingLife1(
	ctx context.Context, mappings iam1.ExternalGroupRoleMappingsClient, provider, scope, role string,
) life {
	made := &iam1.ExternalGroupRoleMapping{ExternalGroupId: "engineers", RoleUidp: role, Scope: scope}
	shown := proto.CloneOf(made)
	shown.IdentityProviderUidp = provider
	return life{
		kind: "v1 external group role mapping",
		made: told{shown},
		create: func() (proto.Message, error) {
			return mappings.Create(ctx, &iam1.CreateExternalGroupRoleMappingRequest{ParentId: provider, Mapping: made})
		},
		get: func(id string) (proto.Message, error) {
			return mappings.Get(ctx, &iam1.GetExternalGroupRoleMappingRequest{Uid: id})
		},
		list: func() ([]proto.Message, error) {
			answer, err := mappings.List(ctx, &iam1.ExternalGroupRoleMappingFilter{IdentityProviderUidp: provider})
			return messages(answer.GetItems(), err)
		},
		remove: func(id string) error {
			_, err := mappings.Delete(ctx, &iam1.DeleteExternalGroupRoleMappingRequest{Id: id})
			return err
		},
	}
}
