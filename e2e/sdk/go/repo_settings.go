package main

import (
	"context"
	"fmt"

	registry "chainguard.dev/sdk/proto/platform/registry/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// The calls about a repo that do not need the content of images.
func testRepoSettings(ctx context.Context, run *testRun, c registry.RegistryClient, repo string) {
	testDeployment(ctx, run, c, repo)
	run.step("v1 tags summary", func() error {
		tag, err := c.CreateTag(ctx, &registry.CreateTagRequest{RepoId: repo, Tag: &registry.Tag{Name: "latest"}})
		if err != nil {
			return err
		}
		summary, err := c.GetRepoTagsSummary(ctx, &registry.GetRepoTagsSummaryRequest{RepoId: repo})
		if err != nil {
			return err
		}
		if _, err := c.DeleteTag(ctx, &registry.DeleteTagRequest{Id: tag.GetId()}); err != nil {
			return err
		}
		return covers(&registry.RepoTagsSummary{Id: repo, TagCount: 1, LatestTag: &registry.Tag{Id: tag.GetId()}}, summary)
	})
	run.step("v1 update status", func() error {
		_, err := c.GetUpdateStatus(ctx, &registry.UpdateStatusRequest{RepoId: repo})
		return err
	})
	run.step("v1 repos by source", func() error {
		count, err := c.GetRepoCountBySource(ctx, &registry.GetRepoCountBySourceRequest{Id: repo})
		if err == nil && count.GetCount() != 0 {
			err = fmt.Errorf("%d repos sync from it", count.GetCount())
		}
		return err
	})
	run.step("v1 end-of-life tags", func() error {
		answer, err := c.ListEolTags(ctx, &registry.EolTagFilter{Uidp: childrenOf(repo)})
		if err == nil && len(answer.GetItems()) != 0 {
			err = fmt.Errorf("%v are listed", answer.GetItems())
		}
		return err
	})
	// After NotFound, the Terraform provider's data source uses a version stream with the name of the package.
	run.step("v1 versions of a package that was not imported", func() error {
		request := &registry.PackageVersionMetadataRequest{Package: "no-such-package"}
		if _, err := c.GetPackageVersionMetadata(ctx, request); status.Code(err) != codes.NotFound {
			return fmt.Errorf("wanted NotFound, got %v", err)
		}
		return nil
	})
}

// As the Terraform provider expects: a second create returns AlreadyExists, and a delete is an update without charts.
func testDeployment(ctx context.Context, run *testRun, c registry.RegistryClient, repo string) {
	charts := []*registry.HelmChart{
		{Repo: "oci://charts.example.com/web", Source: proto.String("https://code.example.com/web")},
		{Repo: "https://charts.example.com/", Chart: proto.String("web")},
	}
	is := func(want []*registry.HelmChart) func(*registry.Deployment, error) error {
		return func(got *registry.Deployment, err error) error {
			if err == nil && !proto.Equal(got, &registry.Deployment{Id: repo, Charts: want}) {
				err = fmt.Errorf("got %v", got)
			}
			return err
		}
	}
	create := &registry.CreateDeploymentRequest{ParentId: repo, Charts: charts[:1]}
	get := &registry.GetDeploymentRequest{RepoId: repo}
	run.step("v1 deployment create", func() error { return is(charts[:1])(c.CreateDeployment(ctx, create)) })
	run.step("v1 deployment create again", func() error {
		if _, err := c.CreateDeployment(ctx, create); status.Code(err) != codes.AlreadyExists {
			return fmt.Errorf("wanted AlreadyExists, got %v", err)
		}
		return nil
	})
	run.step("v1 deployment get", func() error { return is(charts[:1])(c.GetDeployment(ctx, get)) })
	run.step("v1 deployment update", func() error {
		return is(charts)(c.UpdateDeployment(ctx, &registry.UpdateDeploymentRequest{RepoId: repo, Charts: charts}))
	})
	run.step("v1 deployment get after update", func() error { return is(charts)(c.GetDeployment(ctx, get)) })
	run.step("v1 deployment delete", func() error {
		return is(nil)(c.UpdateDeployment(ctx, &registry.UpdateDeploymentRequest{RepoId: repo}))
	})
}

// Turns the settings for all repos of an organization on and off.
func changeRegistrySettings(ctx context.Context, c registry.RegistryClient, organization string) error {
	for _, isOn := range []bool{true, false} {
		want := &registry.RegistrySettings{RegistryId: organization, UniqueTags: isOn, EolGracePeriod: isOn}
		changed, err := c.UpdateRegistrySettings(ctx, want)
		if err != nil {
			return err
		}
		got, err := c.GetRegistrySettings(ctx, &registry.GetRegistrySettingsRequest{RegistryId: organization})
		if err != nil {
			return err
		}
		if !proto.Equal(changed, want) || !proto.Equal(got, want) {
			return fmt.Errorf("changed to %v, and got %v, not %v", changed, got, want)
		}
	}
	return nil
}
