package main

import (
	"context"
	"fmt"
	"time"

	"chainguard.dev/sdk/proto/capabilities"
	iam "chainguard.dev/sdk/proto/chainguard/platform/iam/v2beta1"
	common "chainguard.dev/sdk/proto/platform/common/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
)

// The update masks of the Terraform provider: all fields, except for groups.
var (
	allFields   = &fieldmaskpb.FieldMask{Paths: []string{"*"}}
	groupFields = &fieldmaskpb.FieldMask{Paths: []string{"name", "description", "verified"}}
	oneHour     = durationpb.New(time.Hour)
)

func childrenOf(group string) *common.UIDPFilter { return &common.UIDPFilter{ChildrenOf: group} }

// The uid of a built-in role, found as the Terraform provider's data source for roles finds it.
func builtInRole(ctx context.Context, run *testRun, c iam.Clients, name string) (uid string) {
	run.step("v2beta1 built-in role "+name, func() error {
		roles, err := c.ListRolesAll(ctx, &iam.ListRolesRequest{Name: name, Uidp: &common.UIDPFilter{}})
		if err == nil && len(roles) != 1 {
			err = fmt.Errorf("%d are listed", len(roles))
		}
		if err == nil {
			uid = roles[0].GetUid()
		}
		return err
	})
	return uid
}

func testIAMV2beta1(ctx context.Context, run *testRun, at target, signedIn clients) {
	c := signedIn.v2.IAM()
	viewer, editor := builtInRole(ctx, run, c, "viewer"), builtInRole(ctx, run, c, "editor")
	run.testLifecycle(groupLifecycleV2beta1(ctx, c, at.group))
	run.testLifecycle(identityLifecycleV2beta1(ctx, c, at.group))
	run.testLifecycle(roleLifecycleV2beta1(ctx, c, at.group))
	run.testLifecycle(bindingLifecycleV2beta1(ctx, c, at, viewer, editor))
	run.testLifecycle(providerLifecycleV2beta1(ctx, c, at.group, viewer))
	run.testLifecycle(associationLifecycleV2beta1(ctx, c, at.group))
	run.testLifecycle(inviteLifecycleV2beta1(ctx, c, at.group, viewer))
}

func groupLifecycleV2beta1(ctx context.Context, c iam.Clients, parent string) lifecycle {
	made := &iam.Group{Name: "team", Description: "makes things"}
	changed := &iam.Group{Name: "crew", Description: "mends things"}
	groups := c.GroupsService()
	return lifecycle{
		kind:    "v2beta1 group",
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

func identityLifecycleV2beta1(ctx context.Context, c iam.Clients, parent string) lifecycle {
	made := &iam.Identity{Name: "robot", Description: "works", Relationship: &iam.Identity_ClaimMatch_{
		ClaimMatch: &iam.Identity_ClaimMatch{
			Iss:    &iam.Identity_ClaimMatch_Issuer{Issuer: "https://ci.example.com"},
			Sub:    &iam.Identity_ClaimMatch_SubjectPattern{SubjectPattern: "^repo:acme/.*$"},
			Aud:    &iam.Identity_ClaimMatch_Audience{Audience: "https://acme.example.com"},
			Claims: map[string]string{"environment": "production"},
		},
	}}
	changed := &iam.Identity{Name: "robot-2", Description: "rests", Relationship: &iam.Identity_AwsIdentity{
		AwsIdentity: &iam.Identity_AWSIdentity{
			AwsAccount: "123456789012",
			AwsArn:     &iam.Identity_AWSIdentity_ArnPattern{ArnPattern: "^arn:aws:sts::123456789012:.*$"},
			AwsUserId:  &iam.Identity_AWSIdentity_UserIdPattern{UserIdPattern: "^A.*$"},
		},
	}}
	identities := c.IdentitiesService()
	return lifecycle{
		kind:    "v2beta1 identity",
		made:    expected{made},
		changed: expected{changed},
		create: func() (proto.Message, error) {
			return identities.CreateIdentity(ctx, &iam.CreateIdentityRequest{Parent: parent, Identity: made})
		},
		get: func(id string) (proto.Message, error) {
			return identities.GetIdentity(ctx, &iam.GetIdentityRequest{Uid: id})
		},
		list: func() ([]proto.Message, error) {
			return messages(c.ListIdentitiesAll(ctx, &iam.ListIdentitiesRequest{Uidp: childrenOf(parent)}))
		},
		update: func(id string) (proto.Message, error) {
			identity := proto.CloneOf(changed)
			identity.Uid = id
			return identities.UpdateIdentity(ctx, &iam.UpdateIdentityRequest{Identity: identity, UpdateMask: allFields})
		},
		remove: func(id string) error {
			_, err := identities.DeleteIdentity(ctx, &iam.DeleteIdentityRequest{Uid: id})
			return err
		},
	}
}

func roleLifecycleV2beta1(ctx context.Context, c iam.Clients, parent string) lifecycle {
	made := &iam.Role{Name: "reader", Description: "reads", Capabilities: []capabilities.Capability{
		capabilities.Capability_CAP_IAM_GROUPS_LIST,
	}}
	changed := &iam.Role{Name: "reader", Description: "reads more", Capabilities: []capabilities.Capability{
		capabilities.Capability_CAP_IAM_GROUPS_LIST, capabilities.Capability_CAP_IAM_ROLES_LIST,
	}}
	roles := c.RolesService()
	return lifecycle{
		kind:    "v2beta1 role",
		made:    expected{made},
		changed: expected{changed},
		create: func() (proto.Message, error) {
			return roles.CreateRole(ctx, &iam.CreateRoleRequest{Parent: parent, Role: made})
		},
		get: func(id string) (proto.Message, error) { return roles.GetRole(ctx, &iam.GetRoleRequest{Uid: id}) },
		list: func() ([]proto.Message, error) {
			return messages(c.ListRolesAll(ctx, &iam.ListRolesRequest{Uidp: childrenOf(parent)}))
		},
		update: func(id string) (proto.Message, error) {
			role := proto.CloneOf(changed)
			role.Uid = id
			return roles.UpdateRole(ctx, &iam.UpdateRoleRequest{Role: role, UpdateMask: allFields})
		},
		remove: func(id string) error {
			_, err := roles.DeleteRole(ctx, &iam.DeleteRoleRequest{Uid: id})
			return err
		},
	}
}

func bindingLifecycleV2beta1(ctx context.Context, c iam.Clients, at target, role, other string) lifecycle {
	shown := func(role string) expected {
		return expected{&iam.RoleBinding{
			Identity: &iam.RoleBindingIdentity{Uid: at.identity},
			Group:    &iam.RoleBindingGroup{Uid: at.group},
			Role:     &iam.RoleBindingRole{Uid: role},
		}}
	}
	bindings := c.RoleBindingsService()
	return lifecycle{
		kind:    "v2beta1 role binding",
		made:    shown(role),
		changed: shown(other),
		create: func() (proto.Message, error) {
			return bindings.CreateRoleBinding(ctx, &iam.CreateRoleBindingRequest{
				Parent: at.group, RoleBinding: &iam.RoleBinding{IdentityUid: at.identity, RoleUid: role},
			})
		},
		get: func(id string) (proto.Message, error) {
			return bindings.GetRoleBinding(ctx, &iam.GetRoleBindingRequest{Uid: id})
		},
		list: func() ([]proto.Message, error) {
			return messages(c.ListRoleBindingsAll(ctx, &iam.ListRoleBindingsRequest{Uidp: childrenOf(at.group)}))
		},
		update: func(id string) (proto.Message, error) {
			return bindings.UpdateRoleBinding(ctx, &iam.UpdateRoleBindingRequest{
				RoleBinding: &iam.RoleBinding{Uid: id, IdentityUid: at.identity, RoleUid: other}, UpdateMask: allFields,
			})
		},
		remove: func(id string) error {
			_, err := bindings.DeleteRoleBinding(ctx, &iam.DeleteRoleBindingRequest{Uid: id})
			return err
		},
	}
}

func providerLifecycleV2beta1(ctx context.Context, c iam.Clients, parent, role string) lifecycle {
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
		provider.Uid = id
		provider.GetOidc().ClientSecret = "a secret"
		return provider
	}
	providers := c.IdentityProvidersService()
	return lifecycle{
		kind:    "v2beta1 identity provider",
		made:    expected{shown("sso")},
		changed: expected{shown("sso-2")},
		create: func() (proto.Message, error) {
			return withoutSecret(providers.CreateIdentityProvider(ctx, &iam.CreateIdentityProviderRequest{
				Parent: parent, IdentityProvider: sent("sso", ""),
			}))
		},
		get: func(id string) (proto.Message, error) {
			return withoutSecret(providers.GetIdentityProvider(ctx, &iam.GetIdentityProviderRequest{Uid: id}))
		},
		list: func() ([]proto.Message, error) {
			return messages(c.ListIdentityProvidersAll(ctx, &iam.ListIdentityProvidersRequest{Uidp: childrenOf(parent)}))
		},
		update: func(id string) (proto.Message, error) {
			return withoutSecret(providers.UpdateIdentityProvider(ctx, &iam.UpdateIdentityProviderRequest{
				IdentityProvider: sent("sso-2", id), UpdateMask: allFields,
			}))
		},
		remove: func(id string) error {
			_, err := providers.DeleteIdentityProvider(ctx, &iam.DeleteIdentityProviderRequest{Uid: id})
			return err
		},
	}
}

func withoutSecret(provider *iam.IdentityProvider, err error) (proto.Message, error) {
	if err != nil {
		return nil, err
	}
	if provider.GetOidc().GetClientSecret() != "" {
		return nil, fmt.Errorf("the response contains the client secret")
	}
	provider.Scim = nil // lists do not contain it
	return provider, nil
}

func associationLifecycleV2beta1(ctx context.Context, c iam.Clients, group string) lifecycle {
	made := &iam.AccountAssociation{
		Name: "accounts", Description: "elsewhere",
		Amazon: &iam.AccountAssociation_Amazon{Account: "123456789012"},
		Google: &iam.AccountAssociation_Google{ProjectId: "acme", ProjectNumber: "123"},
	}
	changed := &iam.AccountAssociation{
		Name: "accounts", Description: "moved",
		Amazon: &iam.AccountAssociation_Amazon{Account: "210987654321"},
		// The tests of the Terraform provider send random letters in place of a number.
		Google: &iam.AccountAssociation_Google{ProjectId: "acme", ProjectNumber: "xkcdabcdef"},
	}
	associations := c.AccountAssociationsService()
	return lifecycle{
		kind:    "v2beta1 account association",
		made:    expected{made},
		changed: expected{changed},
		create: func() (proto.Message, error) {
			return associations.CreateAccountAssociation(ctx, &iam.CreateAccountAssociationRequest{
				Parent: group, AccountAssociation: made,
			})
		},
		get: func(id string) (proto.Message, error) {
			return associations.GetAccountAssociation(ctx, &iam.GetAccountAssociationRequest{Uid: id})
		},
		list: func() ([]proto.Message, error) {
			return messages(c.ListAccountAssociationsAll(ctx, &iam.ListAccountAssociationsRequest{}))
		},
		update: func(id string) (proto.Message, error) {
			association := proto.CloneOf(changed)
			association.Uid = id
			return associations.UpdateAccountAssociation(ctx, &iam.UpdateAccountAssociationRequest{
				AccountAssociation: association, UpdateMask: allFields,
			})
		},
		remove: func(id string) error {
			_, err := associations.DeleteAccountAssociation(ctx, &iam.DeleteAccountAssociationRequest{Uid: id})
			return err
		},
	}
}

func inviteLifecycleV2beta1(ctx context.Context, c iam.Clients, parent, role string) lifecycle {
	invites := c.GroupInvitesService()
	return lifecycle{
		kind: "v2beta1 group invite",
		made: expected{&iam.GroupInvite{Role: &iam.GroupInviteRole{Uid: role}, Email: "ada@example.com"}},
		create: func() (proto.Message, error) {
			invite, err := invites.CreateGroupInvite(ctx, &iam.CreateGroupInviteRequest{
				Parent:      parent,
				GroupInvite: &iam.GroupInvite{RoleUid: role, Ttl: oneHour, Email: "ada@example.com"},
			})
			if err == nil && invite.GetCode() == "" {
				err = fmt.Errorf("the response has no code")
			}
			return invite, err
		},
		get: func(id string) (proto.Message, error) {
			return invites.GetGroupInvite(ctx, &iam.GetGroupInviteRequest{Uid: id})
		},
		list: func() ([]proto.Message, error) {
			return messages(c.ListGroupInvitesAll(ctx, &iam.ListGroupInvitesRequest{Uidp: childrenOf(parent)}))
		},
		remove: func(id string) error {
			_, err := invites.DeleteGroupInvite(ctx, &iam.DeleteGroupInviteRequest{Uid: id})
			return err
		},
	}
}

// Lists in several pages. The SDK requests the further pages itself.
func testPages(ctx context.Context, run *testRun, at target, signedIn clients) {
	const count = 5
	c := signedIn.v2.IAM()
	var made []string
	for number := range count {
		run.step(fmt.Sprintf("group %d of %d", number+1, count), func() error {
			group := &iam.Group{Name: fmt.Sprintf("page-%d", number)}
			answer, err := c.GroupsService().CreateGroup(ctx, &iam.CreateGroupRequest{Parent: at.group, Group: group})
			if err == nil {
				made = append(made, answer.GetUid())
			}
			return err
		})
	}
	run.step("v2beta1 list two at a time", func() error {
		request := &iam.ListGroupsRequest{Uidp: childrenOf(at.group), PageSize: 2, OrderBy: "name desc"}
		groups, err := c.ListGroupsAll(ctx, request)
		if err != nil {
			return err
		}
		if len(groups) != count || groups[0].GetName() != "page-4" || groups[count-1].GetName() != "page-0" {
			return fmt.Errorf("%v are listed", groups)
		}
		return nil
	})
	run.step("v2beta1 list by name", func() error {
		// As the Terraform provider's data source for groups does.
		request := &iam.ListGroupsRequest{Uidp: childrenOf(at.group), Name: "page-3"}
		group, err := only(c.ListGroupsAll(ctx, request))
		if err != nil {
			return err
		}
		return covers(&iam.Group{Name: "page-3"}, group)
	})
	for _, uid := range made {
		run.step("delete "+uid, func() error {
			_, err := c.GroupsService().DeleteGroup(ctx, &iam.DeleteGroupRequest{Uid: uid})
			return err
		})
	}
}
