export const registryHelp = `Usage: stemma registry COMMAND [flags]

  configure-docker  Let docker, podman and other clients get a token from your sign-in whenever they need one.
  login             Store a token in docker's configuration. It works until it expires, for at most an hour.
  logout            Remove the registry from docker's configuration.

The name of the registry is the host of the server: stemma.example.com/acme/platform/app:latest is an image in the group
acme/platform. Configure docker once, then push and pull:

  stemma auth login --api https://stemma.example.com
  stemma registry configure-docker
  docker push stemma.example.com/acme/platform/app:latest

Without docker-credential-stemma on the PATH, as with npx:

  npx @stemma/cli registry login

A login for other machines, such as a cluster. It can only pull from the repos of a group, and works for up to a year:

  stemma registry configure-docker --pull-token --parent acme/platform --name cluster --ttl 90d

Flags of configure-docker:
  --pull-token     Create a pull token and print its docker login command. stemma pull-tokens list shows all of them.
  --parent GROUP   The token can pull from all repos in and below this group.
  --name TEXT      Name of the pull token. Default: pull-token- and the date.
  --ttl DURATION   Time until the pull token expires. Default: 30 days.
  --repo REPO      The only repo that can be pulled from.
  --save           Store the pull token in docker's configuration, in place of printing it.
  --dry-run        Only print what would be changed.

Flags of all commands:
  --authfile FILE  The file to change, such as the auth.json of podman. Default: config.json in DOCKER_CONFIG, or in
                   ~/.docker.
  --api URL        URL of the server. Default: STEMMA_API, then the current context, then http://localhost:8080.
  --context NAME   Name of a sign-in that stemma auth login saved (STEMMA_CONTEXT).
  --issuer URL     URL of the token issuer. Default: STEMMA_ISSUER, then the current context, then the same as --api.`
