package main

import (
	"context"

	iam "chainguard.dev/sdk/proto/chainguard/platform/iam/v2beta1"
	events "chainguard.dev/sdk/proto/platform/events/v1"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
)

// The metadata that callers state about themselves.
func testMetadata(ctx context.Context, run *testRun, c clients) {
	run.step("v2beta1 identity metadata", func() error {
		want := &iam.IdentityMetadata{Company: "Acme", JobTitle: "engineer"}
		got, err := c.v2.IAM().IdentitiesService().UpdateIdentityMetadata(ctx, &iam.UpdateIdentityMetadataRequest{
			IdentityMetadata: want, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"company", "job_title"}},
		})
		if err != nil {
			return err
		}
		return covers(want, got)
	})
	run.step("v1 identity metadata", func() error {
		want := &events.IdentityMetadata{OnboardingQuestions: &events.IdentityMetadata_OnboardingQuestions{
			CompanyName: "Acme", Product: "images",
		}}
		got, err := c.v1.IAM().DeprecatedIdentities().UpdateMetadata(ctx, want)
		if err != nil {
			return err
		}
		return covers(want, got)
	})
}
