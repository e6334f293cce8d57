export const imageTreeHelp = `Usage: stemma images tree IMAGE [flags]

Prints an image and everything that belongs to it: the manifests of its platforms with their configs and layers, and what
refers to them, such as signatures, SBOMs and attestations.

Examples:
  stemma images tree acme/platform/app
  stemma images tree acme/platform/app:v1 --depth 1
  stemma images tree acme/platform/app@sha256:… -o json

IMAGE is the name of a repo or its uid, followed by a tag or digest. The default tag is latest.

The size of a manifest or index is that of everything it consists of. In JSON this is totalSize, and size is that of the
manifest itself.

Flags:
  --depth NUMBER       Number of levels below the image. Default: all.
  -o, --output FORMAT  Output format: table (default), wide (whole digests and media types), json, yaml or uid (only
                       digests).
  --api URL            URL of the server. Default: STEMMA_API, then the current context, then http://localhost:8080.
  --context NAME       Name of a sign-in that stemma auth login saved (STEMMA_CONTEXT).
  --issuer URL         URL of the token issuer. Default: STEMMA_ISSUER, then the same as --api.
  --audience AUD       Audience of the token. Default: the same as --api.
  --debug              Print each request.`
