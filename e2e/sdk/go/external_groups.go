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
	w.step("v2beta1 mappings batch delete", func() error {
		mappings := c.v2.IAM().ExternalGroupRoleMappingsService()
		made, err := mappings.CreateExternalGroupRoleMapping(ctx, &iam.CreateExternalGroupRoleMappingRequest{
			Parent:                   provider,
			ExternalGroupRoleMapping: &iam.ExternalGroupRoleMapping{ExternalGroupId: "ops", RoleUid: role, Scope: at.group},
		})
		if err != nil {
			return err
		}
		answer, err := mappings.BatchDeleteExternalGroupRoleMappings(ctx,
			&iam.BatchDeleteExternalGroupRoleMappingsRequest{Parent: provider, Names: []string{made.GetUid()}})
		if err == nil && len(answer.GetExternalGroupRoleMappings()) != 1 {
			err = fmt.Errorf("%v are deleted", answer.GetExternalGroupRoleMappings())
		}
		return err
	})
	w.step("identity provider with external groups delete", remove)
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
