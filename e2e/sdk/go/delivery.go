package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"chainguard.dev/sdk/events"
	"chainguard.dev/sdk/events/receiver"
	iam "chainguard.dev/sdk/proto/chainguard/platform/iam/v2beta1"
	cloudevents "github.com/cloudevents/sdk-go/v2"
)

const deliveryTimeout = 30 * time.Second

// The published receiver verifies and decodes the event of a new group, in both content modes.
func testDelivery(ctx context.Context, run *testRun, at target, c clients) {
	for mode, contentType := range map[string]string{
		"BINARY":     "application/json",
		"STRUCTURED": "application/cloudevents+json",
	} {
		run.step("delivery "+strings.ToLower(mode), func() error {
			ctx, cancel := context.WithTimeout(ctx, deliveryTimeout)
			defer cancel()
			return receiveGroup(ctx, at, c, mode, contentType)
		})
	}
}

func receiveGroup(ctx context.Context, at target, c clients, mode, contentType string) error {
	arrived := make(chan cloudevents.Event, 100)
	verified, err := receiver.NewHTTPHandler(ctx, at.issuer, at.group, func(_ context.Context, e cloudevents.Event) error {
		arrived <- e
		return nil
	})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: acceptOnly(contentType, verified)}
	defer server.Close()
	go server.Serve(listener)

	sink := fmt.Sprintf("http://%s/events", listener.Addr())
	uid, err := subscribe(ctx, at, c.token, map[string]string{"sink": sink, "contentMode": "CONTENT_MODE_" + mode})
	if err != nil {
		return err
	}
	defer call(ctx, http.MethodDelete, at.api+"/events/v2beta1/subscriptions/"+uid, c.token, nil)
	groups := c.v2.IAM().GroupsService()
	made, err := groups.CreateGroup(ctx,
		&iam.CreateGroupRequest{Parent: at.group, Group: &iam.Group{Name: "delivered"}})
	if err != nil {
		return err
	}
	defer groups.DeleteGroup(ctx, &iam.DeleteGroupRequest{Uid: made.GetUid()})
	for {
		select {
		case e := <-arrived:
			if e.Type() != "dev.chainguard.api.iam.group.created.v1" || e.Subject() != made.GetUid() {
				continue
			}
			group, err := events.BodyAs[*iam.Group](e)
			if err != nil {
				return err
			}
			return covers(&iam.Group{Uid: made.GetUid(), Name: "delivered"}, group)
		case <-ctx.Done():
			return fmt.Errorf("the receiver has accepted no event of the new group")
		}
	}
}

// Refuses the other content mode before the receiver sees it.
func acceptOnly(contentType string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		if request.Method == http.MethodPost && !strings.HasPrefix(request.Header.Get("Content-Type"), contentType) {
			http.Error(answer, "another content mode", http.StatusUnsupportedMediaType)
			return
		}
		next.ServeHTTP(answer, request)
	})
}

// The published clients do not know content modes, so the subscription is made by hand. Returns its uid.
func subscribe(ctx context.Context, at target, token string, subscription map[string]string) (string, error) {
	body, err := json.Marshal(subscription)
	if err != nil {
		return "", err
	}
	answer, err := call(ctx, http.MethodPost, at.api+"/events/v2beta1/subscriptions/"+at.group, token, body)
	if err != nil {
		return "", err
	}
	return answer["uid"].(string), nil
}

func call(ctx context.Context, method, url, token string, body []byte) (map[string]any, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var answer map[string]any
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s %s: %d %v", method, url, response.StatusCode, answer)
	}
	return answer, nil
}
