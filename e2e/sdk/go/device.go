package main

import (
	"context"
	"fmt"
	"time"

	"chainguard.dev/sdk/auth/deviceflow"
	"chainguard.dev/sdk/sts"
	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// A person signs in with the device flow. The SDK verifies the id token by discovery; the exchange accepts it.
func testDeviceFlow(ctx context.Context, run *testRun, at target) {
	const client = "auth0"
	run.step("sign-in with a device", func() error {
		provider, err := oidc.NewProvider(ctx, at.issuer)
		if err != nil {
			return err
		}
		getter := deviceflow.NewTokenGetter(at.issuer,
			deviceflow.WithMessagePrinter(func(message string) { fmt.Println(message) }),
			// Shorter than the pauses that the issuer asks for, so that the test is fast.
			deviceflow.WithSleeper(func(time.Duration) { time.Sleep(100 * time.Millisecond) }))
		token, err := getter.GetIDToken(provider, oauth2.Config{ClientID: client, Scopes: []string{"openid", "email"}})
		if err != nil {
			return err
		}
		pair, err := sts.New(at.issuer, at.audience, sts.WithUserAgent(userAgent)).Exchange(ctx, token.RawString)
		if err != nil {
			return err
		}
		me, err := whoAmI(ctx, at, pair.AccessToken)
		if err != nil {
			return err
		}
		return verify(ctx, at, token.RawString, client, me)
	})
}
