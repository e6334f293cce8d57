package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"chainguard.dev/sdk/auth"
	"chainguard.dev/sdk/auth/login"
	iam2 "chainguard.dev/sdk/proto/chainguard/platform/iam/v2beta1"
	iam1 "chainguard.dev/sdk/proto/platform/iam/v1"
	"chainguard.dev/sdk/sts"
)

// As the Terraform provider creates a group without a parent: a person signs in; the provider creates the group,
// refreshes the token of the person, and continues when v1 lists the group. After the deletion, v1 must not list it.
func testOrganization(ctx context.Context, run *testRun, at target) {
	var refreshToken, organization string
	isSignedIn := run.step("sign-in with a browser", func() (err error) {
		var access, me string
		access, refreshToken, err = login.Login(ctx,
			login.WithIssuer(at.issuer), login.WithAudience([]string{at.audience}), login.WithClientID("auth0"),
			login.WithCreateRefreshToken(), login.WithSkipBrowser(), login.WithMessageWriter(os.Stdout))
		if err != nil {
			return err
		}
		if me, err = whoAmI(ctx, at, access); err != nil {
			return err
		}
		return verify(ctx, at, access, at.audience, me)
	})
	if !isSignedIn {
		return
	}
	as := func(name string, do func(c clients) error) {
		run.step(name, func() error {
			access, next, err := refresh(ctx, at, refreshToken)
			if err != nil {
				return err
			}
			refreshToken = next
			c, err := connect(ctx, at, access)
			if err != nil {
				return err
			}
			defer c.close()
			return do(c)
		})
	}
	isListed := func(c clients, want int) error {
		answer, err := c.v1.IAM().Groups().List(ctx, &iam1.GroupFilter{Id: organization})
		if err == nil && len(answer.GetItems()) != want {
			err = fmt.Errorf("%d are listed, not %d", len(answer.GetItems()), want)
		}
		return err
	}
	as("organization create", func(c clients) error {
		group := &iam2.Group{Name: "founded", Description: "by a client"}
		made, err := c.v2.IAM().GroupsService().CreateGroup(ctx, &iam2.CreateGroupRequest{Group: group})
		if err != nil {
			return err
		}
		organization = made.GetUid()
		return covers(group, made)
	})
	if organization == "" {
		return
	}
	as("organization is listed by a refreshed token", func(c clients) error { return isListed(c, 1) })
	as("group in the organization", func(c clients) error {
		group := groupLifecycleV2beta1(ctx, c.v2.IAM(), organization)
		group.kind = "  " + group.kind + " in the organization"
		run.testLifecycle(group)
		return nil
	})
	as("SCIM in the organization", func(c clients) error {
		testScim(ctx, run, c, organization)
		return nil
	})
	as("registry settings of the organization", func(c clients) error {
		return changeRegistrySettings(ctx, c.v1.Registry().Registry(), organization)
	})
	as("organization for somebody else", func(c clients) error { return makeForSomebodyElse(ctx, at, c) })
	as("organization delete", func(c clients) error {
		_, err := c.v2.IAM().GroupsService().DeleteGroup(ctx, &iam2.DeleteGroupRequest{Uid: organization})
		return err
	})
	as("organization is gone", func(c clients) error { return isListed(c, 0) })
}

// Refreshes over gRPC and over HTTP/1. The second use of the token must yield the same new one, since programs that run
// at the same time share a token in a file.
func refresh(ctx context.Context, at target, refreshToken string) (access, next string, err error) {
	for _, exchanger := range []sts.Exchanger{
		sts.New(at.issuer, at.audience, sts.WithUserAgent(userAgent)),
		sts.NewHTTP1DowngradeExchanger(at.issuer, at.audience),
	} {
		previous := next
		if access, next, err = exchanger.Refresh(ctx, refreshToken); err != nil {
			return "", "", err
		}
		if access == "" || next == "" || next == refreshToken {
			return "", "", errors.New("both tokens must be new")
		}
		if previous != "" && next != previous {
			return "", "", errors.New("two uses must yield the same refresh token")
		}
	}
	_, expiry := auth.ExtractRefreshExpiry(next)
	email, _, unreadable := auth.ExtractEmail(access)
	if unreadable == nil && email == "" {
		unreadable = errors.New("the access token lacks the e-mail address")
	}
	return access, next, errors.Join(expiry, unreadable)
}

// As the Terraform provider creates an organization for a workload: it exchanges the token of the workload again, and
// continues when v1 lists the group.
func testWorkloadOrganization(ctx context.Context, run *testRun, at target, c clients, identityToken string) {
	run.step("organization of a workload", func() error {
		made, err := c.v2.IAM().GroupsService().CreateGroup(ctx,
			&iam2.CreateGroupRequest{Group: &iam2.Group{Name: "founded", Description: "by a workload"}})
		if err != nil {
			return err
		}
		pair, err := sts.New(at.issuer, at.audience, sts.WithIdentity(at.identity)).Exchange(ctx, identityToken)
		if err != nil {
			return err
		}
		again, err := connect(ctx, at, pair.AccessToken)
		if err != nil {
			return err
		}
		defer again.close()
		groups := again.v1.IAM().Groups()
		answer, err := groups.List(ctx, &iam1.GroupFilter{Id: made.GetUid()})
		if err == nil && len(answer.GetItems()) != 1 {
			err = fmt.Errorf("%d are listed, not 1", len(answer.GetItems()))
		}
		_, deleteErr := groups.Delete(ctx, &iam1.DeleteGroupRequest{Id: made.GetUid()})
		return errors.Join(err, deleteErr)
	})
}

// Creates an organization for another person, who becomes its owner by accepting the invite. Here, the caller accepts it.
func makeForSomebodyElse(ctx context.Context, at target, c clients) error {
	invite, err := c.v1.IAM().GroupInvites().CreateWithGroup(ctx,
		&iam1.GroupInviteRequest{Group: "for-others", Ttl: oneHour})
	if err != nil {
		return err
	}
	session, err := register(ctx, at, c.token, invite.GetCode())
	if err != nil {
		return err
	}
	_, err = c.v1.IAM().Groups().Delete(ctx, &iam1.DeleteGroupRequest{Id: session.GetGroup()})
	return err
}
