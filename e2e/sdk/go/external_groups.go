package main

import (
	"context"
	"fmt"

	iam "chainguard.dev/sdk/proto/chainguard/platform/iam/v2beta1"
	iam1 "chainguard.dev/sdk/proto/platform/iam/v1"
	"google.golang.org/protobuf/proto"
)

// Mappings of external groups to roles, in v2beta1 and v1.
func testExternalGroups(ctx context.Context, run *testRun, at target, c clients) {
	provider, remove := makeProvider(ctx, run, c.v2.IAM(), at.group)
	role := builtInRole(ctx, run, c.v2.IAM(), "viewer")
	run.testLifecycle(mappingLifecycleV2beta1(ctx, c.v2.IAM(), provider, at.group, role))
	run.testLifecycle(mappingLifecycleV1(ctx, c.v1.IAM().ExternalGroupRoleMappings(), provider, at.group, role))
	run.step("mappings batch delete", func() error { return batchDelete(ctx, c, provider, at.group, role) })
	run.step("identity provider with external groups delete", remove)
}

// Deletes through each version the mapping that was created through the other.
func batchDelete(ctx context.Context, c clients, provider, scope, role string) error {
	v2, v1 := c.v2.IAM().ExternalGroupRoleMappingsService(), c.v1.IAM().ExternalGroupRoleMappings()
	madeByV1, err := v1.Create(ctx, &iam1.CreateExternalGroupRoleMappingRequest{
		ParentId: provider, Mapping: &iam1.ExternalGroupRoleMapping{ExternalGroupId: "ops", RoleUidp: role, Scope: scope},
	})
	if err != nil {
		return err
	}
	deletedByV2, err := v2.BatchDeleteExternalGroupRoleMappings(ctx,
		&iam.BatchDeleteExternalGroupRoleMappingsRequest{Parent: provider, Names: []string{madeByV1.GetId()}})
	if err != nil {
		return err
	}
	madeByV2, err := v2.CreateExternalGroupRoleMapping(ctx, &iam.CreateExternalGroupRoleMappingRequest{
		Parent:                   provider,
		ExternalGroupRoleMapping: &iam.ExternalGroupRoleMapping{ExternalGroupId: "ops", RoleUid: role, Scope: scope},
	})
	if err != nil {
		return err
	}
	deletedByV1, err := v1.BatchDelete(ctx,
		&iam1.BatchDeleteExternalGroupRoleMappingsRequest{ParentId: provider, Ids: []string{madeByV2.GetUid()}})
	if err == nil && len(deletedByV2.GetExternalGroupRoleMappings())+len(deletedByV1.GetItems()) != 2 {
		err = fmt.Errorf("%v and %v are deleted", deletedByV2, deletedByV1)
	}
	return err
}

func mappingLifecycleV2beta1(ctx context.Context, c iam.Clients, provider, scope, role string) lifecycle {
	made := &iam.ExternalGroupRoleMapping{ExternalGroupId: "engineers", RoleUid: role, Scope: scope}
	shown := proto.CloneOf(made)
	shown.IdentityProviderUid = provider
	mappings := c.ExternalGroupRoleMappingsService()
	return lifecycle{
		kind: "v2beta1 external group role mapping",
		made: expected{shown},
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

func mappingLifecycleV1(
	ctx context.Context, mappings iam1.ExternalGroupRoleMappingsClient, provider, scope, role string,
) lifecycle {
	made := &iam1.ExternalGroupRoleMapping{ExternalGroupId: "engineers", RoleUidp: role, Scope: scope}
	shown := proto.CloneOf(made)
	shown.IdentityProviderUidp = provider
	return lifecycle{
		kind: "v1 external group role mapping",
		made: expected{shown},
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
