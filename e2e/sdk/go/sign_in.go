package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"chainguard.dev/sdk/auth"
	iam2 "chainguard.dev/sdk/proto/chainguard/platform/iam/v2beta1"
	"chainguard.dev/sdk/proto/platform"
	ping "chainguard.dev/sdk/proto/platform/ping/v1"
	"chainguard.dev/sdk/sts"
	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Exchanges a token of another issuer for an access token, as workloads do, and checks that it is for the identity.
func signIn(ctx context.Context, run *testRun, at target, identityToken string) (token string) {
	exchanger := sts.New(at.issuer, at.audience, sts.WithIdentity(at.identity), sts.WithUserAgent(userAgent))
	run.step("exchange", func() error {
		pair, err := exchanger.Exchange(ctx, identityToken)
		if err != nil {
			return err
		}
		token = pair.AccessToken
		return errors.Join(isAccessToken(at, token, at.identity, pair.Expiry), hasAlgorithm(token, at.algorithm))
	})
	run.step("verification by discovery", func() error { return verify(ctx, at, token, at.audience, at.identity) })
	run.step("exchange over HTTP/1", func() error {
		pair, err := sts.ExchangePair(ctx, at.issuer, at.audience, identityToken,
			sts.WithIdentity(at.identity), sts.WithHTTP1Downgrade())
		if err != nil {
			return err
		}
		return isAccessToken(at, pair.AccessToken, at.identity, pair.Expiry)
	})
	run.step("exchange for one capability in one group", func() error {
		narrow, err := exchanger.Exchange(ctx, identityToken,
			sts.WithScope(at.group), sts.WithCapabilities("groups.list"))
		if err != nil {
			return err
		}
		return holdsGroupsListOnly(ctx, at, narrow.AccessToken)
	})
	run.step("exchange of an invalid token", func() error {
		_, err := exchanger.Exchange(ctx, "none")
		if status.Code(err) != codes.Unauthenticated {
			return fmt.Errorf("wanted Unauthenticated, got %v", err)
		}
		return nil
	})
	run.step("who am I", func() error {
		me, err := whoAmI(ctx, at, token)
		if err == nil && me != at.identity {
			err = fmt.Errorf("the token is for %s", me)
		}
		return err
	})
	return token
}

// Checks the claims that the SDK reads from a token.
func isAccessToken(at target, token, identity string, expiry time.Time) error {
	issuer, subject, err := auth.ExtractIssuerAndSubject(token)
	if err != nil {
		return err
	}
	if issuer != at.issuer || subject != identity {
		return fmt.Errorf("the token is from %s for %s", issuer, subject)
	}
	expires, err := auth.ExtractExpiry(token)
	if err == nil && !expires.Equal(expiry) {
		err = fmt.Errorf("the token expires at %v, and the response says %v", expires, expiry)
	}
	return err
}

func whoAmI(ctx context.Context, at target, token string) (string, error) {
	c, err := platform.NewOIDCClients(ctx, at.issuer, auth.NewFromToken(ctx, "Bearer "+token, false))
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close() }()
	if _, err := c.OIDCPing().Ping().Ping(ctx, &ping.PingRequest{}); err != nil {
		return "", fmt.Errorf("ping: %w", err)
	}
	me, err := c.Auth().Validate(ctx, &emptypb.Empty{})
	if err != nil {
		return "", err
	}
	return me.GetSubject(), hasOnlyKnownFields(me.ProtoReflect())
}

func holdsGroupsListOnly(ctx context.Context, at target, token string) error {
	c, err := connect(ctx, at, token)
	if err != nil {
		return err
	}
	defer c.close()
	groups := c.v2.IAM().GroupsService()
	if _, err := groups.GetGroup(ctx, &iam2.GetGroupRequest{Uid: at.group}); err != nil {
		return err
	}
	_, err = groups.CreateGroup(ctx, &iam2.CreateGroupRequest{Parent: at.group, Group: &iam2.Group{Name: "none"}})
	if status.Code(err) != codes.PermissionDenied {
		return fmt.Errorf("wanted PermissionDenied for CreateGroup, got %v", err)
	}
	return nil
}

// Exchanges a token that is signed with a static key of an identity, as pull tokens are.
func testStaticKeys(ctx context.Context, run *testRun, at target, c clients) {
	const issuer, subject = "https://keys.example.com", "machine"
	identities := c.v2.IAM().IdentitiesService()
	run.step("exchange by static keys", func() error {
		key, keys, err := makeKey()
		if err != nil {
			return err
		}
		made, err := identities.CreateIdentity(ctx, &iam2.CreateIdentityRequest{Parent: at.group, Identity: &iam2.Identity{
			Name: "machine",
			Relationship: &iam2.Identity_StaticKeys_{StaticKeys: &iam2.Identity_StaticKeys{
				Issuer: issuer, Subject: subject, IssuerKeys: keys,
				ExpirationTime: timestamppb.New(time.Now().Add(time.Hour).Truncate(time.Second)),
			}},
		}})
		if err != nil {
			return err
		}
		presented, err := sign(key, jwt.Claims{
			Issuer: issuer, Subject: subject, Audience: jwt.Audience{at.issuer},
			IssuedAt: jwt.NewNumericDate(time.Now()),
			Expiry:   jwt.NewNumericDate(time.Now().Add(time.Minute)),
		})
		if err != nil {
			return err
		}
		pair, err := sts.New(at.issuer, at.audience, sts.WithIdentity(made.GetUid())).Exchange(ctx, presented)
		if err == nil {
			err = isAccessToken(at, pair.AccessToken, made.GetUid(), pair.Expiry)
		}
		_, deleteErr := identities.DeleteIdentity(ctx, &iam2.DeleteIdentityRequest{Uid: made.GetUid()})
		return errors.Join(err, deleteErr)
	})
}

// A private key, and a key set with its public key.
func makeKey() (*ecdsa.PrivateKey, string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, "", err
	}
	keys, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{
		{Key: key.Public(), KeyID: "one", Algorithm: string(jose.ES256), Use: "sig"},
	}})
	return key, string(keys), err
}

func sign(key *ecdsa.PrivateKey, claims jwt.Claims) (string, error) {
	options := (&jose.SignerOptions{}).WithHeader("kid", "one")
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, options)
	if err != nil {
		return "", err
	}
	return jwt.Signed(signer).Claims(claims).Serialize()
}
