package main

import (
	"context"
	"errors"
	"fmt"

	iam "chainguard.dev/sdk/proto/chainguard/platform/iam/v2beta1"
	iam1 "chainguard.dev/sdk/proto/platform/iam/v1"
)

func testTerms(ctx context.Context, run *testRun, at target, c clients) {
	run.step("terms accept", func() error {
		_, err := c.v2.IAM().TermsService().AcceptTerms(ctx,
			&iam.AcceptTermsRequest{Group: at.group, DocumentIds: []string{at.terms}})
		return err
	})
	run.step("terms list", func() error { return isAccepted(ctx, at, c) })
}

func isAccepted(ctx context.Context, at target, c clients) error {
	two, err2 := c.v2.IAM().TermsService().ListTermsAcceptances(ctx, &iam.ListTermsAcceptancesRequest{Group: at.group})
	one, err1 := c.v1.IAM().Terms().ListAccepted(ctx, &iam1.TermsFilter{Group: at.group})
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if len(two.GetTermsAcceptances()) != 1 || len(one.GetItems()) != 1 {
		return fmt.Errorf("%v and %v are listed", two.GetTermsAcceptances(), one.GetItems())
	}
	by := []string{
		two.GetTermsAcceptances()[0].GetDocId(), two.GetTermsAcceptances()[0].GetAcceptedBy(),
		one.GetItems()[0].GetDocId(), one.GetItems()[0].GetAcceptedBy(),
	}
	if fmt.Sprint(by) != fmt.Sprint([]string{at.terms, at.identity, at.terms, at.identity}) {
		return fmt.Errorf("%v is listed", by)
	}
	return nil
}
