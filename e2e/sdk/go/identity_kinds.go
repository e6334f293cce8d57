package main

import (
	"context"
	"errors"
	"time"

	iam "chainguard.dev/sdk/proto/chainguard/platform/iam/v2beta1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Identities as in published configurations and in the tests of the Terraform provider. The server must return each of
// them unchanged.
func identityKinds() map[string]*iam.Identity {
	const issuer = "https://accounts.google.com"
	match := func(subject string, claims, patterns map[string]string) *iam.Identity {
		return &iam.Identity{Relationship: &iam.Identity_ClaimMatch_{ClaimMatch: &iam.Identity_ClaimMatch{
			Iss:    &iam.Identity_ClaimMatch_Issuer{Issuer: issuer},
			Sub:    &iam.Identity_ClaimMatch_SubjectPattern{SubjectPattern: subject},
			Claims: claims, ClaimPatterns: patterns,
		}}}
	}
	expiration := timestamppb.New(time.Now().Add(time.Hour).Truncate(time.Second))
	return map[string]*iam.Identity{
		"of any subject": match(".*", nil, nil),
		"with a claim and a pattern of the same name": match("^robot$",
			map[string]string{"email": "ada@example.com"}, map[string]string{"email": ".*@example.com"}),
		"with keys that are no key set": {Relationship: &iam.Identity_StaticKeys_{StaticKeys: &iam.Identity_StaticKeys{
			Issuer: issuer, Subject: "machine", IssuerKeys: "keys", ExpirationTime: expiration,
		}}},
		"of AWS with names that are no ARN": {Relationship: &iam.Identity_AwsIdentity{AwsIdentity: &iam.Identity_AWSIdentity{
			AwsAccount: "123456789012",
			AwsArn:     &iam.Identity_AWSIdentity_Arn{Arn: "bar"},
			AwsUserId:  &iam.Identity_AWSIdentity_UserId{UserId: "foo"},
		}}},
		"of AWS with patterns": {Relationship: &iam.Identity_AwsIdentity{AwsIdentity: &iam.Identity_AWSIdentity{
			AwsAccount: "123456789012",
			AwsArn:     &iam.Identity_AWSIdentity_ArnPattern{ArnPattern: "bar-pattern"},
			AwsUserId:  &iam.Identity_AWSIdentity_UserIdPattern{UserIdPattern: "foo-pattern"},
		}}},
		"of a service": {Relationship: &iam.Identity_ServicePrincipal{
			ServicePrincipal: iam.ServicePrincipal_SERVICE_PRINCIPAL_INGESTER,
		}},
	}
}

func testIdentityKinds(ctx context.Context, run *testRun, at target, c clients) {
	identities := c.v2.IAM().IdentitiesService()
	for kind, sent := range identityKinds() {
		run.step("v2beta1 identity "+kind, func() error {
			sent.Name = "kind"
			made, err := identities.CreateIdentity(ctx, &iam.CreateIdentityRequest{Parent: at.group, Identity: sent})
			if err != nil {
				return err
			}
			got, err := identities.GetIdentity(ctx, &iam.GetIdentityRequest{Uid: made.GetUid()})
			if err == nil && !proto.Equal(made, got) {
				err = same(made, got)
			}
			_, deleteErr := identities.DeleteIdentity(ctx, &iam.DeleteIdentityRequest{Uid: made.GetUid()})
			return errors.Join(err, covers(sent, made), deleteErr)
		})
	}
}
