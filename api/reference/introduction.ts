export const idempotencyKeyDescription =
  'A text of your choice that is new for each request. A repeated request with the same key gets the response of the first one.'

export const warningDescription =
  'Values that were stored although they are probably mistakes: a list of strings (RFC 9651), each with the parameter `field`.'

/**
 * The rules for every call, in Markdown. Each form of the reference (Markdown, HTML and OpenAPI) begins with this text.
 */
export const introduction = `Resources are in a tree of groups; a group without a parent is an organization. A role that is bound to an identity in a group applies to the group and to everything below it. Every call of this reference also exists over gRPC, on the same port.

**Versions.** \`v2\` is another name of \`v2beta1\` in every path: \`/iam/v2/groups\` is \`/iam/v2beta1/groups\`. The calls of version 1 stay available.

**Uids.** The \`uid\` of a resource is a path: the uid of its parent, a slash and 16 hexadecimal digits. In a URL, slashes may be written as they are or as \`%2F\`. In version 1, this field is named \`id\`.

**Fields.** Fields of bodies and parameters of queries are accepted in JSON spelling (\`pageSize\`) and in proto spelling (\`page_size\`). Unknown fields of a body are ignored, except in a PATCH without \`updateMask\`, where they are an error. Unknown parameters of a query are an error, except in version 1, which ignores them. 64-bit integers are strings. Times are RFC 3339 in UTC.

**Lists.** A page has 50 results by default and at most 200 (\`pageSize\`). \`nextPageToken\` is the token of the next page and absent on the last page. \`totalCount\` is the number of results over all pages. \`orderBy\` is a list of field names, separated by commas, each optionally followed by \`desc\`. A page token is valid for three days; with an older token, the list starts again from its beginning.

**Updates.** PATCH changes the fields that are in the body. With \`updateMask\`, a list of field names separated by commas, it changes only the named fields. PUT, in version 1, replaces the whole resource.

**Creates.** A call that creates something accepts the header \`Idempotency-Key\`, such as \`"8e03978e-40d5-43dd-bc93-6894a57f9324"\`, so that it can be repeated safely if its response is lost. For 24 hours, a repeated request with the same key gets the response of the first one, with the header \`Idempotent-Replayed: true\`. While the first one is running, a repeated request fails with 409; a different request with the same key fails with 422.

**Warnings.** The response to a create or an update has the header \`Stemma-Warning\` if a value was stored that is probably a mistake: \`"must be an ARN such as …";field="awsIdentity.arn"\`. Over gRPC, it is in the trailing metadata.

**Access.** Calls need the header \`Authorization: Bearer\` with an access token, unless they are marked as open. An access token is valid for an hour. Each call lists the capabilities that the caller needs. The caller must have all of them in the group that the call names, or above it; otherwise the call fails with 403, whether or not the resource exists. Lists contain only what the caller may see.

**Errors.** Every error is JSON with \`code\`, \`message\` and \`details\` (google.rpc.Status).`
