package main

import (
	"context"
	"errors"
	"fmt"

	final "chainguard.dev/sdk/proto/chainguard/platform/advisory/v2"
	beta "chainguard.dev/sdk/proto/chainguard/platform/advisory/v2beta1"
	advisory "chainguard.dev/sdk/proto/platform/advisory/v1"
	vulnerabilities "chainguard.dev/sdk/proto/platform/vulnerabilities/v1"
	"google.golang.org/protobuf/proto"
)

// Creates, finds and deletes an advisory through v1, and reads the documents and vulnerabilities that are made of it.
func testAdvisories(ctx context.Context, run *testRun, at target, signedIn clients) {
	c := signedIn.v1.Vulnerabilities().Advisories()
	var made *vulnerabilities.Advisory
	isMade := run.step("v1 advisory create", func() (err error) {
		made, err = c.Create(ctx, &vulnerabilities.CreateAdvisoryRequest{ParentId: at.group, Advisory: movedComponent})
		if err != nil {
			return err
		}
		return covers(movedComponent.GetEvents()[1], made.GetEvents()[1])
	})
	if !isMade {
		return
	}
	run.step("v1 advisory found by its moved component", func() error {
		moved := vulnerabilities.EventTypeFilter_EVENT_TYPE_FILTER_COMPONENT_LOCATION_CHANGED
		list, err := c.List(ctx, &vulnerabilities.AdvisoryFilter{
			Uidp: childrenOf(at.group), EventTypes: []vulnerabilities.EventTypeFilter{moved},
		})
		if err != nil {
			return err
		}
		listed, err := only(list.GetItems(), nil)
		if err != nil {
			return err
		}
		if list.GetId() != at.group {
			return fmt.Errorf("the id of the list is %q", list.GetId())
		}
		want := &vulnerabilities.Advisory{LegacyAdvisoryID: proto.String("OLD-1")}
		return errors.Join(covers(want, listed), same(made, listed))
	})
	testDocuments(ctx, run, signedIn, made.GetAdvisoryId())
	run.step("v1 advisory delete", func() error {
		_, err := c.Delete(ctx, &vulnerabilities.DeleteAdvisoryRequest{Id: made.GetId()})
		return err
	})
}

var movedComponent = &vulnerabilities.Advisory{
	ArtifactType: "apk", ArtifactName: "sdk-test", Aliases: []string{"CVE-2026-4711"},
	LegacyAdvisoryID: proto.String("OLD-1"),
	Events: []*vulnerabilities.AdvisoryEvent{{
		Status: vulnerabilities.ReviewStatus_APPROVED,
		Type: &vulnerabilities.AdvisoryEvent_Fixed_{
			Fixed: &vulnerabilities.AdvisoryEvent_Fixed{FixedVersion: "1.2-r3"},
		},
	}, {
		Status: vulnerabilities.ReviewStatus_APPROVED,
		Type: &vulnerabilities.AdvisoryEvent_ComponentLocationChanged_{
			ComponentLocationChanged: &vulnerabilities.AdvisoryEvent_ComponentLocationChanged{
				PreviousLocation: "/usr/lib", NewLocation: "/opt/lib",
			},
		},
	}},
}

func testDocuments(ctx context.Context, run *testRun, signedIn clients, id string) {
	run.step("v1 document", func() error {
		c := signedIn.v1.Advisory().SecurityAdvisory()
		list, err := c.ListDocuments(ctx, &advisory.DocumentFilter{Id: "sdk-test", Cves: []string{"CVE-2026-4711"}})
		if err != nil {
			return err
		}
		for _, document := range list.GetItems() {
			for _, listed := range document.GetAdvisories() {
				if listed.GetId() == id && len(listed.GetEvents()) == 1 &&
					listed.GetEvents()[0].GetFixed().GetFixedVersion() == "1.2-r3" {
					return nil
				}
			}
		}
		return fmt.Errorf("got %v", list)
	})
	run.step("v2beta1 document", func() error {
		c := signedIn.v2.Advisory().SecurityAdvisoryService()
		list, err := c.ListDocuments(ctx, &beta.ListDocumentsRequest{Id: "sdk-test"})
		document, err := only(list.GetDocuments(), err)
		if err != nil {
			return err
		}
		return covers(&beta.Document{Id: "sdk-test"}, document)
	})
	run.step("v1 vulnerability", func() error {
		c := signedIn.v1.Advisory().SecurityAdvisory()
		list, err := c.ListVulnerabilityMetadata(ctx, &advisory.VulnerabilityMetadataFilter{Id: "CVE-2026-4711"})
		found, err := only(list.GetItems(), err)
		if err != nil {
			return err
		}
		return covers(&advisory.VulnerabilityMetadata{Id: "CVE-2026-4711"}, found)
	})
	run.step("v2 vulnerability", func() error {
		request := &final.ListVulnerabilityMetadataRequest{Ids: []string{"CVE-2026-4711", "CVE-none"}, PageSize: 1}
		found, err := only(signedIn.ga.Advisory().ListVulnerabilityMetadataAll(ctx, request))
		if err != nil {
			return err
		}
		return covers(&final.VulnerabilityMetadata{Id: "CVE-2026-4711"}, found)
	})
}
