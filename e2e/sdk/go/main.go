// Clients walks the published SDK through a running server: it signs in by an exchange, takes every kind of resource
// through its life by the clients of v2beta1 and of v1, and calls every rpc of the SDK once. It prints a line for each
// step, and ends with 1 if anything was not as the SDK's users expect it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"chainguard.dev/sdk/auth"
	"chainguard.dev/sdk/proto/chainguard/platform/clients/v2"
	"chainguard.dev/sdk/proto/chainguard/platform/clients/v2beta1"
	"chainguard.dev/sdk/proto/platform"
)

const userAgent = "stemma-clients"

// A server, and who calls it.
type place struct {
	api, issuer, audience string
	// The group below which everything is made, where the identity is an owner.
	group, identity string
	// A document that the operator has set, if any.
	terms string
	// Signs access tokens.
	algorithm string
}

// Parts of the walk that not every server or caller can go.
type parts struct{ signInOnly, founding, person bool }

// What a signed-in caller calls with.
type clients struct {
	v1 platform.Clients
	v2 v2beta1.Clients
	// The same calls by their final names.
	ga v2.Clients
	// The access token that they send.
	token string
}

func main() {
	var at place
	flag.StringVar(&at.api, "api", "http://localhost:8080", "URL of the API")
	flag.StringVar(&at.issuer, "issuer", "", "URL of the token issuer; the API's unless given")
	flag.StringVar(&at.audience, "audience", "", "audience of access tokens; the API's URL unless given")
	flag.StringVar(&at.group, "group", "", "uid of the group to work in")
	flag.StringVar(&at.identity, "identity", "", "uid of the identity to assume, an owner of the group")
	flag.StringVar(&at.terms, "terms", "", "id of a document that groups can accept, as set by the operator")
	flag.StringVar(&at.algorithm, "algorithm", "RS256", "algorithm that signs access tokens, as set by the operator")
	var does parts
	flag.BoolVar(&does.signInOnly, "sign-in-only", false, "end after the sign-in of the identity")
	flag.BoolVar(&does.founding, "organizations", false, "have the identity create an organization")
	flag.BoolVar(&does.person, "person", false,
		"have a person sign in with a device, on another machine and with a browser, and create an organization")
	limit := flag.Duration("timeout", 4*time.Minute, "how long all of it may take")
	flag.Parse()
	if at.issuer == "" {
		at.issuer = at.api
	}
	if at.audience == "" {
		at.audience = at.api
	}
	ctx, cancel := context.WithTimeout(context.Background(), *limit)
	defer cancel()
	if err := walkAll(platform.WithUserAgent(ctx, userAgent), at, does); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Tokens come by the environment, since everybody on a machine can read the arguments of a program.
func walkAll(ctx context.Context, at place, does parts) error {
	w, identityToken := &walk{}, os.Getenv("IDENTITY_TOKEN")
	token := signIn(ctx, w, at, identityToken)
	if does.signInOnly {
		return w.verdict()
	}
	c, err := connect(ctx, at, token)
	if err != nil {
		return err
	}
	defer c.close()
	server := walkContract(ctx, w, c.v1)
	walkIAM2(ctx, w, at, c)
	walkIAM1(ctx, w, at, c)
	w.live(groupLifeGA(ctx, c.ga.IAM(), at.group))
	walkRegistry(ctx, w, at, c)
	walkAdvisories(ctx, w, at, c)
	walkSubscriptions(ctx, w, at, c)
	walkDelivery(ctx, w, at, c)
	walkPages(ctx, w, at, c)
	walkStaticKeys(ctx, w, at, c)
	walkIdentityKinds(ctx, w, at, c)
	walkExternalGroups(ctx, w, at, c)
	walkMetadata(ctx, w, c)
	if at.terms != "" {
		walkTerms(ctx, w, at, c)
	}
	if does.founding {
		walkFounding(ctx, w, at, c, identityToken)
	}
	walkCoverage(ctx, w, c.v1.Connection(), server)
	if registrationToken := os.Getenv("REGISTRATION_TOKEN"); registrationToken != "" {
		walkRegistration(ctx, w, at, registrationToken)
	}
	if does.person {
		walkDeviceFlow(ctx, w, at)
		walkHeadless(ctx, w, at)
		walkOrganization(ctx, w, at)
	}
	return w.verdict()
}

func connect(ctx context.Context, at place, token string) (clients, error) {
	credential := auth.NewFromToken(ctx, "Bearer "+token, false)
	v1, err := platform.NewPlatformClients(ctx, at.api, credential)
	if err != nil {
		return clients{}, err
	}
	beta, err := v2beta1.NewClients(ctx, at.api, userAgent, credential)
	if err != nil {
		return clients{}, err
	}
	final, err := v2.NewClients(ctx, at.api, userAgent, credential)
	return clients{v1, beta, final, token}, err
}

func (c clients) close() {
	_ = c.v1.Close()
	_ = c.v2.Close()
	_ = c.ga.Close()
}
