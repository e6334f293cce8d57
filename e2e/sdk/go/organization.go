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

// What the Terraform provider does for a group without a parent: a person signs in, it makes the group, has the
// person's token refreshed, and goes on once v1 lists the group. In the end v1 must list it no more.
func walkOrganization(ctx context.Context, w *walk, at place) {
	var refreshToken, organization string
	isSignedIn := w.step("sign-in with a browser", func() (err error) {
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
		w.step(name, func() error {
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
	as("organization takes a group", func(c clients) error {
		life := groupLife2(ctx, c.v2.IAM(), organization)
		life.kind = "  its " + life.kind
		w.live(life)
		return nil
	})
	as("organization provisions people", func(c clients) error {
		walkScim(ctx, w, c, organization)
		return nil
	})
	as("organization has registry settings", func(c clients) error {
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
func refresh(ctx context.Context, at place, refreshToken string) (access, next string, err error) {
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
		unreadable = errors.New("it lacks the e-mail address")
	}
	return access, next, errors.Join(expiry, unreadable)
}

// What the Terraform provider does for a workload: it exchanges its token again, and goes on once v1 lists the group.
func walkFounding(ctx context.Context, w *walk, at place, c clients, identityToken string) {
	w.step("organization of a workload", func() error {
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
		_, gone := groups.Delete(ctx, &iam1.DeleteGroupRequest{Id: made.GetUid()})
		return errors.Join(err, gone)
	})
}

// An organization without an owner, until somebody takes its invite.
func makeForSomebodyElse(ctx context.Context, at place, c clients) error {
	invite, err := c.v1.IAM().GroupInvites().CreateWithGroup(ctx,
		&iam1.GroupInviteRequest{Group: "for-others", Ttl: inviteLasts})
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
