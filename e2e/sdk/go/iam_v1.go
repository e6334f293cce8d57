package main

import (
	"context"
	"fmt"

	iam "chainguard.dev/sdk/proto/platform/iam/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

func testIAMV1(ctx context.Context, run *testRun, at target, signedIn clients) {
	c := signedIn.v1.IAM()
	viewer, editor := builtInRole(ctx, run, signedIn.v2.IAM(), "viewer"), builtInRole(ctx, run, signedIn.v2.IAM(), "editor")
	run.testLifecycle(groupLifecycleV1(ctx, c.Groups(), at.group))
	run.testLifecycle(identityLifecycleV1(ctx, run, c.Identities(), at.group))
	run.testLifecycle(roleLifecycleV1(ctx, c.Roles(), at.group))
	run.testLifecycle(bindingLifecycleV1(ctx, c.RoleBindings(), at, viewer, editor))
	run.testLifecycle(providerLifecycleV1(ctx, c.IdentityProviders(), at.group, viewer))
	run.testLifecycle(associationLifecycleV1(ctx, c.AccountAssociations(), at.group))
	run.testLifecycle(inviteLifecycleV1(ctx, c.GroupInvites(), at.group, viewer))
}

func groupLifecycleV1(ctx context.Context, groups iam.GroupsClient, parent string) lifecycle {
	made := &iam.Group{Name: "team", Description: "makes things"}
	changed := &iam.Group{Name: "crew", Description: "mends things"}
	list := func(filter *iam.GroupFilter) ([]*iam.Group, error) {
		answer, err := groups.List(ctx, filter)
		return answer.GetItems(), err
	}
	return lifecycle{
		kind:    "v1 group",
		made:    expected{made},
		changed: expected{changed},
		create: func() (proto.Message, error) {
			return groups.Create(ctx, &iam.CreateGroupRequest{Parent: parent, Group: made})
		},
		get:  func(id string) (proto.Message, error) { return only(list(&iam.GroupFilter{Id: id})) },
		list: func() ([]proto.Message, error) { return messages(list(&iam.GroupFilter{Uidp: childrenOf(parent)})) },
		update: func(id string) (proto.Message, error) {
			group := proto.CloneOf(changed)
			group.Id = id
			return groups.Update(ctx, group)
		},
		remove: func(id string) error {
			_, err := groups.Delete(ctx, &iam.DeleteGroupRequest{Id: id})
			return err
		},
	}
}

func identityLifecycleV1(ctx context.Context, run *testRun, identities iam.IdentitiesClient, parent string) lifecycle {
	const issuer = "https://ci.example.com"
	shown := func(name, subject string) *iam.Identity {
		return &iam.Identity{Name: name, Description: "works", Relationship: &iam.Identity_ClaimMatch_{
			ClaimMatch: &iam.Identity_ClaimMatch{
				Iss: &iam.Identity_ClaimMatch_Issuer{Issuer: issuer},
				Sub: &iam.Identity_ClaimMatch_Subject{Subject: subject},
			},
		}}
	}
	list := func(filter *iam.IdentityFilter) ([]*iam.Identity, error) {
		answer, err := identities.List(ctx, filter)
		return answer.GetItems(), err
	}
	// As the Terraform provider's data source for identities does.
	lookUp := func(subject, want string) {
		run.step("v1 identity lookup of "+subject, func() error {
			found, err := identities.Lookup(ctx, &iam.LookupRequest{Issuer: issuer, Subject: subject})
			if want == "" && status.Code(err) == codes.NotFound {
				return nil
			}
			if err == nil && found.GetId() != want {
				err = fmt.Errorf("found %q, not %q", found.GetId(), want)
			}
			return err
		})
	}
	return lifecycle{
		kind:    "v1 identity",
		made:    expected{shown("robot", "one")},
		changed: expected{shown("robot-2", "two")},
		create: func() (proto.Message, error) {
			lookUp("one", "")
			return identities.Create(ctx, &iam.CreateIdentityRequest{ParentId: parent, Identity: shown("robot", "one")})
		},
		get:  func(id string) (proto.Message, error) { return only(list(&iam.IdentityFilter{Id: id})) },
		list: func() ([]proto.Message, error) { return messages(list(&iam.IdentityFilter{Uidp: childrenOf(parent)})) },
		update: func(id string) (proto.Message, error) {
			lookUp("one", id)
			identity := shown("robot-2", "two")
			identity.Id = id
			answer, err := identities.Update(ctx, identity)
			lookUp("two", id)
			return answer, err
		},
		remove: func(id string) error {
			_, err := identities.Delete(ctx, &iam.DeleteIdentityRequest{Id: id})
			return err
		},
	}
}

func roleLifecycleV1(ctx context.Context, roles iam.RolesClient, parent string) lifecycle {
	made := &iam.Role{Name: "reader", Description: "reads", Capabilities: []string{"groups.list"}}
	changed := &iam.Role{Name: "reader", Description: "reads more", Capabilities: []string{"groups.list", "roles.list"}}
	list := func(filter *iam.RoleFilter) ([]*iam.Role, error) {
		answer, err := roles.List(ctx, filter)
		return answer.GetItems(), err
	}
	return lifecycle{
		kind:    "v1 role",
		made:    expected{made},
		changed: expected{changed},
		create: func() (proto.Message, error) {
			return roles.Create(ctx, &iam.CreateRoleRequest{ParentId: parent, Role: made})
		},
		get:  func(id string) (proto.Message, error) { return only(list(&iam.RoleFilter{Id: id})) },
		list: func() ([]proto.Message, error) { return messages(list(&iam.RoleFilter{Parent: parent})) },
		update: func(id string) (proto.Message, error) {
			role := proto.CloneOf(changed)
			role.Id = id
			return roles.Update(ctx, role)
		},
		remove: func(id string) error {
			_, err := roles.Delete(ctx, &iam.DeleteRoleRequest{Id: id})
			return err
		},
	}
}

func bindingLifecycleV1(ctx context.Context, bindings iam.RoleBindingsClient, at target, role, other string) lifecycle {
	shown := func(role string) expected {
		return expected{
			&iam.RoleBinding{Identity: at.identity, Role: role},
			&iam.RoleBindingList_Binding{
				Identity: at.identity, Group: &iam.Group{Id: at.group}, Role: &iam.Role{Id: role},
			},
		}
	}
	list := func(filter *iam.RoleBindingFilter) ([]*iam.RoleBindingList_Binding, error) {
		answer, err := bindings.List(ctx, filter)
		return answer.GetItems(), err
	}
	return lifecycle{
		kind:    "v1 role binding",
		made:    shown(role),
		changed: shown(other),
		create: func() (proto.Message, error) {
			return bindings.Create(ctx, &iam.CreateRoleBindingRequest{
				Parent: at.group, RoleBinding: &iam.RoleBinding{Identity: at.identity, Role: role},
			})
		},
		get: func(id string) (proto.Message, error) { return only(list(&iam.RoleBindingFilter{Id: id})) },
		list: func() ([]proto.Message, error) {
			return messages(list(&iam.RoleBindingFilter{Uidp: childrenOf(at.group)}))
		},
		update: func(id string) (proto.Message, error) {
			return bindings.Update(ctx, &iam.RoleBinding{Id: id, Identity: at.identity, Role: other})
		},
		remove: func(id string) error {
			_, err := bindings.Delete(ctx, &iam.DeleteRoleBindingRequest{Id: id})
			return err
		},
	}
}

func providerLifecycleV1(ctx context.Context, providers iam.IdentityProvidersClient, parent, role string) lifecycle {
	shown := func(name string) *iam.IdentityProvider {
		return &iam.IdentityProvider{
			Name: name, Description: "lets people in", DefaultRole: role,
			Configuration: &iam.IdentityProvider_Oidc{Oidc: &iam.IdentityProvider_OIDC{
				Issuer: "https://login.example.com", ClientId: "stemma", AdditionalScopes: []string{"profile", "email"},
			}},
		}
	}
	sent := func(name, id string) *iam.IdentityProvider {
		provider := shown(name)
		provider.Id = id
		provider.GetOidc().ClientSecret = "a secret"
		return provider
	}
	list := func(filter *iam.IdentityProviderFilter) ([]*iam.IdentityProvider, error) {
		answer, err := providers.List(ctx, filter)
		for _, provider := range answer.GetItems() {
			provider.Scim = nil // only lists with an id contain it
			if provider.GetOidc().GetClientSecret() != "" {
				err = fmt.Errorf("the response contains the client secret")
			}
		}
		return answer.GetItems(), err
	}
	return lifecycle{
		kind:    "v1 identity provider",
		made:    expected{shown("sso")},
		changed: expected{shown("sso-2")},
		create: func() (proto.Message, error) {
			return providers.Create(ctx, &iam.CreateIdentityProviderRequest{
				ParentId: parent, IdentityProvider: sent("sso", ""),
			})
		},
		get: func(id string) (proto.Message, error) { return only(list(&iam.IdentityProviderFilter{Id: id})) },
		list: func() ([]proto.Message, error) {
			return messages(list(&iam.IdentityProviderFilter{Uidp: childrenOf(parent)}))
		},
		update: func(id string) (proto.Message, error) { return providers.Update(ctx, sent("sso-2", id)) },
		remove: func(id string) error {
			_, err := providers.Delete(ctx, &iam.DeleteIdentityProviderRequest{Id: id})
			return err
		},
	}
}

func associationLifecycleV1(ctx context.Context, associations iam.GroupAccountAssociationsClient, group string) lifecycle {
	made := &iam.AccountAssociations{
		Group: group, Name: "accounts", Description: "elsewhere",
		Amazon: &iam.AccountAssociations_Amazon{Account: "123456789012"},
		Google: &iam.AccountAssociations_Google{ProjectId: "acme", ProjectNumber: "123"},
	}
	changed := &iam.AccountAssociations{
		Group: group, Name: "accounts", Description: "moved",
		Amazon: &iam.AccountAssociations_Amazon{Account: "210987654321"},
		// The tests of the Terraform provider send random letters in place of a number.
		Google: &iam.AccountAssociations_Google{ProjectId: "acme", ProjectNumber: "xkcdabcdef"},
	}
	list := func(filter *iam.AccountAssociationsFilter) ([]*iam.AccountAssociations, error) {
		answer, err := associations.List(ctx, filter)
		return answer.GetItems(), err
	}
	return lifecycle{
		kind:    "v1 account association",
		made:    expected{made},
		changed: expected{changed},
		create:  func() (proto.Message, error) { return associations.Create(ctx, made) },
		get: func(id string) (proto.Message, error) {
			return only(list(&iam.AccountAssociationsFilter{Group: id}))
		},
		list: func() ([]proto.Message, error) { return messages(list(&iam.AccountAssociationsFilter{})) },
		update: func(id string) (proto.Message, error) {
			request := &iam.AccountAssociationsCheckRequest{Group: id, AccountType: iam.AccountAssociationsCheckRequest_AMAZON}
			if _, err := associations.Check(ctx, request); err != nil {
				return nil, fmt.Errorf("check: %w", err)
			}
			return associations.Update(ctx, changed)
		},
		remove: func(id string) error {
			_, err := associations.Delete(ctx, &iam.DeleteAccountAssociationsRequest{Group: id})
			return err
		},
	}
}

func inviteLifecycleV1(ctx context.Context, invites iam.GroupInvitesClient, group, role string) lifecycle {
	list := func(filter *iam.GroupInviteFilter) ([]*iam.StoredGroupInvite, error) {
		answer, err := invites.List(ctx, filter)
		return answer.GetItems(), err
	}
	return lifecycle{
		kind: "v1 group invite",
		made: expected{
			&iam.GroupInvite{Role: &iam.Role{Id: role}},
			&iam.StoredGroupInvite{Role: &iam.Role{Id: role}, Email: "ada@example.com"},
		},
		create: func() (proto.Message, error) {
			invite, err := invites.Create(ctx, &iam.GroupInviteRequest{
				Group: group, Role: role, Ttl: oneHour, Email: "ada@example.com",
			})
			if err == nil && invite.GetCode() == "" {
				err = fmt.Errorf("the response has no code")
			}
			return invite, err
		},
		get:  func(id string) (proto.Message, error) { return only(list(&iam.GroupInviteFilter{Id: id})) },
		list: func() ([]proto.Message, error) { return messages(list(&iam.GroupInviteFilter{Group: group})) },
		remove: func(id string) error {
			_, err := invites.Delete(ctx, &iam.DeleteGroupInviteRequest{Id: id})
			return err
		},
	}
}
