package main

import (
	"context"
	"fmt"

	"chainguard.dev/sdk/auth"
	"chainguard.dev/sdk/proto/platform"
	authv1 "chainguard.dev/sdk/proto/platform/auth/v1"
	"chainguard.dev/sdk/sts"
)

// A person registers with a token for the client of an organization's identity provider, and exchanges the same token.
func testRegistration(ctx context.Context, run *testRun, at target, token string) {
	run.step("registration with a token of an identity provider", func() error {
		session, err := register(ctx, at, token, "")
		if err != nil {
			return err
		}
		pair, err := sts.New(at.issuer, at.audience, sts.WithUserAgent(userAgent)).Exchange(ctx, token)
		if err != nil {
			return err
		}
		me, err := whoAmI(ctx, at, pair.AccessToken)
		if err == nil && me != session.GetIdentity() {
			err = fmt.Errorf("registered as %s, but the token is for %s", session.GetIdentity(), me)
		}
		return err
	})
}

// `code` is that of an invite, or empty.
func register(ctx context.Context, at target, token, code string) (*authv1.Session, error) {
	c, err := platform.NewOIDCClients(ctx, at.issuer, auth.NewFromToken(ctx, "Bearer "+token, false))
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }()
	return c.Auth().Register(ctx, &authv1.RegistrationRequest{Code: code})
}
