// What `stemma auth` says of itself.

export const authHelp = `Usage: stemma auth <command> [flags]

  login    sign in: by browser, with --device by a browser elsewhere, with --identity as a machine
  token    print an access token, refreshed if need be
  status   who you are, and what you hold where
  logout   end the sign-in, and forget its tokens

Sign in at your desk, on a machine without a browser, and to accept an invite:

  stemma auth login --api https://stemma.example.com
  stemma auth login --api https://stemma.example.com --device
  stemma auth login --api https://stemma.example.com --invite CODE

Through the provider of your organization, named by its domain or its uid:

  stemma auth login --identity-provider example.com

Call the API, and get a token for the registry:

  curl -H "Authorization: Bearer $(stemma auth token)" https://stemma.example.com/iam/v2beta1/groups
  stemma auth token --audience stemma.example.com

In a CI job, with the token that its issuer gave it:

  echo "$ID_TOKEN" | stemma auth login --api https://stemma.example.com --identity UID --identity-token -

For login:
  --no-browser                   only print the address to open (so does BROWSER=none)
  --device                       show a code to enter in a browser on any machine
  --invite CODE                  accept this invite
  --identity-provider UID|DOMAIN sign in through this provider, or that of this organization
  --login-hint EMAIL             the address to sign in with
  --identity UID                 assume this identity,
  --identity-token FILE|-        with a token of its own issuer from a file, or from a pipe

For all:
  --api URL                      the server (STEMMA_API, or the current context; http://localhost:8080)
  --issuer URL                   its token issuer (STEMMA_ISSUER; the same as --api)
  --audience AUD                 whom the token is for (the same as --api)
  --context NAME                 a name for the server; login saves it (STEMMA_CONTEXT)`
