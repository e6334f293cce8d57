export const authHelp = `Usage: stemma auth COMMAND [flags]

  login    Sign in with a browser, with a browser on another machine (--device), or as a workload (--identity).
  token    Print an access token. Refreshes it if it has expired.
  status   Print who you are, and your roles.
  logout   Sign out, and remove the tokens from this machine.

Sign in with the browser of this machine, with a browser on another machine, or with an invite:

  stemma auth login --api https://stemma.example.com
  stemma auth login --api https://stemma.example.com --device
  stemma auth login --api https://stemma.example.com --invite CODE

Sign in with the identity provider of your organization, by its domain or uid:

  stemma auth login --identity-provider example.com

Use the token in other programs, and print a token for the registry:

  curl -H "Authorization: Bearer $(stemma auth token)" https://stemma.example.com/iam/v2beta1/groups
  stemma auth token --audience stemma.example.com

Sign in as a workload in a CI job, with the id token of the job:

  echo "$ID_TOKEN" | stemma auth login --api https://stemma.example.com --identity UID --identity-token -

Flags of login:
  --no-browser                    Only print the address to open. BROWSER=none has the same effect.
  --device                        Print a code to enter in a browser on any machine.
  --invite CODE                   Accept this invite.
  --identity-provider UID|DOMAIN  Sign in with the identity provider that has this uid or domain.
  --login-hint EMAIL              The e-mail address to sign in with.
  --again                         Ask for the password or passkey, even if the browser is signed in. Some calls need a
                                  recent sign-in (FRESH_SIGN_IN_REQUIRED).
  --identity UID                  Sign in as this identity. Requires --identity-token.
  --identity-token FILE|-         Token of the workload's own issuer, such as the id token of a CI job, from a file or
                                  standard input.

Flags of all commands:
  --api URL                       URL of the server. Default: STEMMA_API, then the current context, then
                                  http://localhost:8080.
  --issuer URL                    URL of the token issuer. Default: STEMMA_ISSUER, then the current context, then the
                                  same as --api.
  --audience AUD                  Audience of the token. Default: the same as --api.
  --context NAME                  Name of a saved sign-in (STEMMA_CONTEXT). login saves the server and the tokens under
                                  this name, separately from those of other contexts.`
