package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"chainguard.dev/sdk/auth"
	"chainguard.dev/sdk/auth/login"
	iam2 "chainguard.dev/sdk/proto/chainguard/platform/iam/v2beta1"
	"chainguard.dev/sdk/proto/platform"
	authv1 "chainguard.dev/sdk/proto/platform/auth/v1"
	iam1 "chainguard.dev/sdk/proto/platform/iam/v1"
	"chainguard.dev/sdk/sts"
)

// What the Terraform provider does for a group without a parent: a person signs in, it makes the group, has the
// person's token refreshed, and goes on once v1 lists the group. In the end v1 must list it no more.
func walkOrganization(ctx context.Context, w *walk, at place) {
	var refreshToken, organization string
	isSignedIn := w.step("sign-in with a browser", func() (err error) {
		_, refreshToken, err = login.Login(ctx,
			login.WithIssuer(at.issuer), login.WithAudience([]string{at.audience}), login.WithClientID("auth0"),
			login.WithCreateRefreshToken(), login.WithSkipBrowser(), login.WithMessageWriter(os.Stdout))
		return err
	})
	if !isSignedIn {
		return
	}
	// Used in turn.
	exchangers := []sts.Exchanger{
		sts.New(at.issuer, at.audience, sts.WithUserAgent(userAgent)),
		sts.NewHTTP1DowngradeExchanger(at.issuer, at.audience),
	}
	as := func(name string, do func(c clients) error) {
		w.step(name, func() error {
			access, next, err := exchangers[w.count%len(exchangers)].Refresh(ctx, refreshToken)
			if err != nil {
				return err
			}
			if access == "" || next == "" || next == refreshToken {
				return errors.New("both tokens must be new")
			}
			if _, err := auth.ExtractRefreshExpiry(next); err != nil {
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

// An organization without an owner, until somebody takes its invite.
func makeForSomebodyElse(ctx context.Context, at place, c clients) error {
	invite, err := c.v1.IAM().GroupInvites().CreateWithGroup(ctx,
		&iam1.GroupInviteRequest{Group: "for-others", Ttl: inviteLasts})
	if err != nil {
		return err
	}
	issuer, err := platform.NewOIDCClients(ctx, at.issuer, auth.NewFromToken(ctx, "Bearer "+c.token, false))
	if err != nil {
		return err
	}
	defer func() { _ = issuer.Close() }()
	session, err := issuer.Auth().Register(ctx, &authv1.RegistrationRequest{Code: invite.GetCode()})
	if err != nil {
		return err
	}
	_, err = c.v1.IAM().Groups().Delete(ctx, &iam1.DeleteGroupRequest{Id: session.GetGroup()})
	return err
}
