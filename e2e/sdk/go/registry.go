package main

import (
	"context"
	"errors"
	"strings"
	"time"

	registry2 "chainguard.dev/sdk/proto/chainguard/platform/registry/v2beta1"
	events "chainguard.dev/sdk/proto/platform/events/v1"
	registry "chainguard.dev/sdk/proto/platform/registry/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Repos and tags. The Terraform provider and other clients use v1 to change them.
func testRegistry(ctx context.Context, run *testRun, at target, signedIn clients) {
	c := signedIn.v1.Registry().Registry()
	var repo *registry.Repo
	isMade := run.step("v1 repo for tags", func() (err error) {
		request := &registry.CreateRepoRequest{ParentId: at.group, Repo: &registry.Repo{Name: "tagged"}}
		repo, err = c.CreateRepo(ctx, request)
		return err
	})
	if !isMade {
		return
	}
	run.testLifecycle(repoLifecycle(ctx, c, at.group, repo.GetId()))
	run.testLifecycle(tagLifecycle(ctx, c, repo.GetId(), "sha256:"+strings.Repeat("0", 64)))
	run.testLifecycle(tagLifecycle(ctx, c, repo.GetId(), ""))
	testRepoSettings(ctx, run, c, repo.GetId())
	run.step("v2beta1 get of a repo that v1 created", func() error {
		return readRepo2(ctx, signedIn.v2.Registry(), at.group, repo)
	})
	run.step("v1 repo for tags delete", func() error {
		_, err := c.DeleteRepo(ctx, &registry.DeleteRepoRequest{Id: repo.GetId()})
		return err
	})
}

// As the Terraform provider's data sources find repos: by uid and by name.
func readRepo2(ctx context.Context, c registry2.Clients, group string, repo *registry.Repo) error {
	want := &registry2.Repo{Uid: repo.GetId(), Name: repo.GetName()}
	got, err := c.ReposService().GetRepo(ctx, &registry2.GetRepoRequest{Uid: repo.GetId()})
	if err != nil {
		return err
	}
	listed, err := only(c.ListReposAll(ctx, &registry2.ListReposRequest{Name: &repo.Name, Uidp: childrenOf(group)}))
	if err != nil {
		return err
	}
	return errors.Join(covers(want, got), covers(want, listed), same(got, listed))
}

func repoLifecycle(ctx context.Context, c registry.RegistryClient, parent, source string) lifecycle {
	expiration := timestamppb.New(time.Now().Add(time.Hour).Truncate(time.Second))
	made := &registry.Repo{
		Name: "static", Bundles: []string{"base"}, Readme: "# Nothing in it",
		CatalogTier: registry.CatalogTier_BASE, Aliases: []string{"static:latest"},
		SyncConfig: &registry.SyncConfig{Source: source, Expiration: expiration, Amazon: "accounts", GracePeriod: true},
		CustomOverlay: &registry.CustomOverlay{
			Contents: &registry.ImageContents{Packages: []string{"curl"}}, Environment: map[string]string{"LANG": "C"},
		},
	}
	changed := &registry.Repo{
		Name: "static", Bundles: []string{"base", "featured"}, Readme: "# Almost nothing in it",
		SyncConfig: &registry.SyncConfig{Source: source, Expiration: expiration, ApkoOverlay: "{}"},
	}
	list := func(filter *registry.RepoFilter) ([]*registry.Repo, error) {
		answer, err := c.ListRepos(ctx, filter)
		return answer.GetItems(), err
	}
	return lifecycle{
		kind:    "v1 repo",
		made:    expected{made},
		changed: expected{changed},
		create: func() (proto.Message, error) {
			return c.CreateRepo(ctx, &registry.CreateRepoRequest{ParentId: parent, Repo: made})
		},
		get:  func(id string) (proto.Message, error) { return only(list(&registry.RepoFilter{Id: id})) },
		list: func() ([]proto.Message, error) { return messages(list(&registry.RepoFilter{Uidp: childrenOf(parent)})) },
		update: func(id string) (proto.Message, error) {
			repo := proto.CloneOf(changed)
			repo.Id = id
			return c.UpdateRepo(ctx, repo)
		},
		remove: func(id string) error {
			_, err := c.DeleteRepo(ctx, &registry.DeleteRepoRequest{Id: id})
			return err
		},
	}
}

// `digest` may be empty: the Terraform provider sends none.
func tagLifecycle(ctx context.Context, c registry.RegistryClient, repo, digest string) lifecycle {
	made := &registry.Tag{Name: "latest", Digest: digest, Bundles: []string{"base"}}
	changed := &registry.Tag{Name: "latest", Digest: digest, Deprecated: true}
	list := func(filter *registry.TagFilter) ([]*registry.Tag, error) {
		answer, err := c.ListTags(ctx, filter)
		return answer.GetItems(), err
	}
	return lifecycle{
		kind:    "v1 tag",
		made:    expected{made},
		changed: expected{changed},
		create: func() (proto.Message, error) {
			return c.CreateTag(ctx, &registry.CreateTagRequest{RepoId: repo, Tag: made})
		},
		get:  func(id string) (proto.Message, error) { return only(list(&registry.TagFilter{Id: id})) },
		list: func() ([]proto.Message, error) { return messages(list(&registry.TagFilter{Uidp: childrenOf(repo)})) },
		update: func(id string) (proto.Message, error) {
			tag := proto.CloneOf(changed)
			tag.Id = id
			return c.UpdateTag(ctx, tag)
		},
		remove: func(id string) error {
			_, err := c.DeleteTag(ctx, &registry.DeleteTagRequest{Id: id})
			return err
		},
	}
}

func testSubscriptions(ctx context.Context, run *testRun, at target, signedIn clients) {
	c := signedIn.v1.IAM().Subscriptions()
	made := &events.Subscription{Sink: "https://hooks.example.com/stemma"}
	list := func(filter *events.SubscriptionFilter) ([]*events.Subscription, error) {
		answer, err := c.List(ctx, filter)
		return answer.GetItems(), err
	}
	run.testLifecycle(lifecycle{
		kind: "v1 subscription",
		made: expected{made},
		create: func() (proto.Message, error) {
			return c.Create(ctx, &events.CreateSubscriptionRequest{ParentId: at.group, Subscription: made})
		},
		get: func(id string) (proto.Message, error) { return only(list(&events.SubscriptionFilter{Id: id})) },
		list: func() ([]proto.Message, error) {
			return messages(list(&events.SubscriptionFilter{Uidp: childrenOf(at.group)}))
		},
		remove: func(id string) error {
			_, err := c.Delete(ctx, &events.DeleteSubscriptionRequest{Id: id})
			return err
		},
	})
}
