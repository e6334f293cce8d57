// Tests a running server with the published SDK: signs in by a token exchange; creates, reads, updates and deletes every
// kind of resource with the clients of v2beta1 and v1; and calls every rpc of the SDK once. Prints a line for each step,
// and exits with 1 if a step fails.
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

// The server to test, and the identity that calls it.
type target struct {
	api, issuer, audience string
	// All resources are created below this group. The identity is an owner of it.
	group, identity string
	// The id of a document in STEMMA_TERMS, or empty.
	terms string
	// The algorithm of access tokens.
	algorithm string
}

// Parts of the test that need settings of the server, or a person.
type parts struct{ signInOnly, organizations, person bool }

// The clients of a caller who has signed in.
type clients struct {
	v1 platform.Clients
	v2 v2beta1.Clients
	// The calls of v2beta1 under the names of v2.
	ga v2.Clients
	// The access token that the clients send.
	token string
}

func main() {
	var at target
	flag.StringVar(&at.api, "api", "http://localhost:8080", "URL of the API")
	flag.StringVar(&at.issuer, "issuer", "", "URL of the token issuer; the API's unless given")
	flag.StringVar(&at.audience, "audience", "", "audience of access tokens; the API's URL unless given")
	flag.StringVar(&at.group, "group", "", "uid of the group to work in")
	flag.StringVar(&at.identity, "identity", "", "uid of the identity to assume, an owner of the group")
	flag.StringVar(&at.terms, "terms", "", "id of a document that groups can accept, as set by the operator")
	flag.StringVar(&at.algorithm, "algorithm", "RS256", "algorithm that signs access tokens, as set by the operator")
	var selected parts
	flag.BoolVar(&selected.signInOnly, "sign-in-only", false, "end after the sign-in of the identity")
	flag.BoolVar(&selected.organizations, "organizations", false, "have the identity create an organization")
	flag.BoolVar(&selected.person, "person", false,
		"have a person sign in with a device, on another machine and with a browser, and create an organization")
	limit := flag.Duration("timeout", 4*time.Minute, "maximum duration of the whole test")
	flag.Parse()
	if at.issuer == "" {
		at.issuer = at.api
	}
	if at.audience == "" {
		at.audience = at.api
	}
	ctx, cancel := context.WithTimeout(context.Background(), *limit)
	defer cancel()
	if err := testAll(platform.WithUserAgent(ctx, userAgent), at, selected); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Tokens are in environment variables, because all users of a machine can read the arguments of a program.
func testAll(ctx context.Context, at target, selected parts) error {
	run, identityToken := &testRun{}, os.Getenv("IDENTITY_TOKEN")
	token := signIn(ctx, run, at, identityToken)
	if selected.signInOnly {
		return run.result()
	}
	c, err := connect(ctx, at, token)
	if err != nil {
		return err
	}
	defer c.close()
	server := testContract(ctx, run, c.v1)
	testIAMV2beta1(ctx, run, at, c)
	testIAMV1(ctx, run, at, c)
	run.testLifecycle(groupLifecycleV2(ctx, c.ga.IAM(), at.group))
	testRegistry(ctx, run, at, c)
	testAdvisories(ctx, run, at, c)
	testSubscriptions(ctx, run, at, c)
	testDelivery(ctx, run, at, c)
	testPages(ctx, run, at, c)
	testStaticKeys(ctx, run, at, c)
	testIdentityKinds(ctx, run, at, c)
	testExternalGroups(ctx, run, at, c)
	testMetadata(ctx, run, c)
	if at.terms != "" {
		testTerms(ctx, run, at, c)
	}
	if selected.organizations {
		testWorkloadOrganization(ctx, run, at, c, identityToken)
	}
	testCoverage(ctx, run, c.v1.Connection(), server)
	if registrationToken := os.Getenv("REGISTRATION_TOKEN"); registrationToken != "" {
		testRegistration(ctx, run, at, registrationToken)
	}
	if selected.person {
		testDeviceFlow(ctx, run, at)
		testHeadless(ctx, run, at)
		testOrganization(ctx, run, at)
	}
	return run.result()
}

func connect(ctx context.Context, at target, token string) (clients, error) {
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
