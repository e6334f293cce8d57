package main

import (
	"context"
	"fmt"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
)

// Verifies a token with the keys and algorithms of the discovery document, as programs that know only the issuer do.
func verify(ctx context.Context, at target, token, audience, subject string) error {
	provider, err := oidc.NewProvider(ctx, at.issuer)
	if err != nil {
		return err
	}
	verified, err := provider.Verifier(&oidc.Config{ClientID: audience}).Verify(ctx, token)
	if err != nil {
		return err
	}
	if verified.Subject != subject {
		return fmt.Errorf("the token is for %s, not %s", verified.Subject, subject)
	}
	return nil
}

func hasAlgorithm(token, want string) error {
	_, err := jose.ParseSigned(token, []jose.SignatureAlgorithm{jose.SignatureAlgorithm(want)})
	return err
}
