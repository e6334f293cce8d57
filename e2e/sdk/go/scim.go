package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	iam "chainguard.dev/sdk/proto/chainguard/platform/iam/v2beta1"
	iam1 "chainguard.dev/sdk/proto/platform/iam/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Issues, uses, replaces and revokes the token with which an identity provider provisions people.
func testScim(ctx context.Context, run *testRun, c clients, organization string) {
	provider, removeProvider := makeProvider(ctx, run, c.v2.IAM(), organization)
	removeOwner := makeSecondOwner(ctx, run, c.v2.IAM(), organization)
	providers := c.v2.IAM().IdentityProvidersService()
	var first, second, endpoint, etag string
	answers := func(token string, want int) error { return scimAnswers(ctx, endpoint, token, want) }
	run.step("SCIM token generate", func() error {
		answer, err := providers.GenerateScimToken(ctx, &iam.GenerateScimTokenRequest{IdentityProviderUid: provider})
		if err != nil {
			return err
		}
		first, etag, endpoint = answer.GetToken(), answer.GetEtag(), answer.GetEndpointUrl()
		return errors.Join(
			hasCredential(ctx, providers, provider, iam.IdentityProvider_SCIM_CREDENTIAL_STATE_LIVE),
			answers(first, http.StatusForbidden)) // provisioning is off
	})
	run.step("SCIM token generate again", func() error {
		_, err := providers.GenerateScimToken(ctx, &iam.GenerateScimTokenRequest{IdentityProviderUid: provider})
		if status.Code(err) != codes.FailedPrecondition && status.Code(err) != codes.AlreadyExists {
			return fmt.Errorf("wanted FailedPrecondition or AlreadyExists, got %v", err)
		}
		return nil
	})
	run.step("SCIM enable", func() error {
		answer, err := providers.SetScimEnabled(ctx,
			&iam.SetScimEnabledRequest{IdentityProviderUid: provider, Enabled: true, Etag: etag})
		if err != nil {
			return err
		}
		etag = answer.GetEtag()
		return answers(first, http.StatusOK)
	})
	run.step("SCIM token regenerate", func() error {
		answer, err := providers.RegenerateScimToken(ctx,
			&iam.RegenerateScimTokenRequest{IdentityProviderUid: provider, Etag: etag, Overlap: oneHour})
		if err != nil {
			return err
		}
		second = answer.GetToken()
		return errors.Join(
			hasCredential(ctx, providers, provider, iam.IdentityProvider_SCIM_CREDENTIAL_STATE_ROTATING),
			answers(first, http.StatusOK), answers(second, http.StatusOK))
	})
	run.step("SCIM token revoke by v1", func() error {
		_, err := c.v1.IAM().IdentityProviders().RevokeScimToken(ctx,
			&iam1.RevokeScimTokenRequest{IdentityProviderId: provider})
		if err != nil {
			return err
		}
		return errors.Join(
			hasCredential(ctx, providers, provider, iam.IdentityProvider_SCIM_CREDENTIAL_STATE_REVOKED),
			answers(first, http.StatusUnauthorized), answers(second, http.StatusUnauthorized))
	})
	run.step("SCIM set-up is removed", func() error { return errors.Join(removeOwner(), removeProvider()) })
}

func makeProvider(ctx context.Context, run *testRun, c iam.Clients, parent string) (uid string, remove func() error) {
	role := builtInRole(ctx, run, c, "viewer")
	run.step("identity provider", func() error {
		made, err := c.IdentityProvidersService().CreateIdentityProvider(ctx, &iam.CreateIdentityProviderRequest{
			Parent: parent, IdentityProvider: &iam.IdentityProvider{
				Name: "people", DefaultRole: role,
				Configuration: &iam.IdentityProvider_Oidc{Oidc: &iam.IdentityProvider_OIDC{
					Issuer: "https://login.example.com", ClientId: "stemma", ClientSecret: "secret", GroupsClaim: "groups",
				}},
			},
		})
		uid = made.GetUid()
		return err
	})
	return uid, func() error {
		_, err := c.IdentityProvidersService().DeleteIdentityProvider(ctx, &iam.DeleteIdentityProviderRequest{Uid: uid})
		return err
	}
}

// Provisioning can be turned on only in an organization with at least two owners.
func makeSecondOwner(ctx context.Context, run *testRun, c iam.Clients, organization string) (remove func() error) {
	role := builtInRole(ctx, run, c, "owner")
	var identity, binding string
	run.step("second owner", func() error {
		made, err := c.IdentitiesService().CreateIdentity(ctx, &iam.CreateIdentityRequest{
			Parent: organization, Identity: &iam.Identity{Name: "second", Relationship: &iam.Identity_ClaimMatch_{
				ClaimMatch: &iam.Identity_ClaimMatch{
					Iss: &iam.Identity_ClaimMatch_Issuer{Issuer: "https://ci.example.com"},
					Sub: &iam.Identity_ClaimMatch_Subject{Subject: "second"},
				},
			}},
		})
		if err != nil {
			return err
		}
		identity = made.GetUid()
		bound, err := c.RoleBindingsService().CreateRoleBinding(ctx, &iam.CreateRoleBindingRequest{
			Parent: organization, RoleBinding: &iam.RoleBinding{IdentityUid: identity, RoleUid: role},
		})
		binding = bound.GetUid()
		return err
	})
	return func() error {
		_, unbound := c.RoleBindingsService().DeleteRoleBinding(ctx, &iam.DeleteRoleBindingRequest{Uid: binding})
		_, removed := c.IdentitiesService().DeleteIdentity(ctx, &iam.DeleteIdentityRequest{Uid: identity})
		return errors.Join(unbound, removed)
	}
}

func hasCredential(
	ctx context.Context, providers iam.IdentityProvidersServiceClient, provider string,
	want iam.IdentityProvider_SCIM_CredentialState,
) error {
	got, err := providers.GetIdentityProvider(ctx, &iam.GetIdentityProviderRequest{Uid: provider})
	if err == nil && got.GetScim().GetCredentialState() != want {
		err = fmt.Errorf("the credential is %s, not %s", got.GetScim().GetCredentialState(), want)
	}
	return err
}

// Returns an error unless the SCIM endpoint answers a request for its users with the status `want`.
func scimAnswers(ctx context.Context, endpoint, token string, want int) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint+"/Users", nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	if response.StatusCode != want {
		err = fmt.Errorf("%s answers %s", request.URL, response.Status)
	}
	return errors.Join(err, response.Body.Close())
}
