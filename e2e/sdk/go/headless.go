package main

import (
	"context"
	"fmt"
	"time"

	"chainguard.dev/sdk/auth/headless"
	"chainguard.dev/sdk/auth/login"
	"chainguard.dev/sdk/proto/platform"
	authv1 "chainguard.dev/sdk/proto/platform/auth/v1"
	"chainguard.dev/sdk/sts"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A person signs in with the browser of another machine. Only this program can decrypt the token.
func testHeadless(ctx context.Context, run *testRun, at target) {
	run.step("sign-in on another machine", func() error {
		key, err := headless.GenerateKeyPair()
		if err != nil {
			return err
		}
		code := string(headless.NewCode(key.PublicKey()))
		address, err := login.BuildHeadlessURL(
			login.WithIssuer(at.issuer), login.WithClientID("auth0"), login.WithHeadlessCode(code))
		if err != nil {
			return err
		}
		fmt.Println("on another machine, open", address)
		session, err := headlessSession(ctx, at, code)
		if err != nil {
			return err
		}
		token, err := headless.DecryptIDToken(session, key)
		if err != nil {
			return err
		}
		pair, err := sts.New(at.issuer, at.audience, sts.WithUserAgent(userAgent)).Exchange(ctx, string(token))
		if err != nil {
			return err
		}
		_, err = whoAmI(ctx, at, pair.AccessToken)
		return err
	})
}

// Repeats the request until the person has signed in.
func headlessSession(ctx context.Context, at target, code string) (*authv1.HeadlessSession, error) {
	c, err := platform.NewOIDCClients(ctx, at.issuer, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }()
	for {
		session, err := c.Auth().GetHeadlessSession(ctx, &authv1.GetHeadlessSessionRequest{Code: code})
		if status.Code(err) != codes.NotFound {
			return session, err
		}
		time.Sleep(100 * time.Millisecond)
	}
}
