// What holds for every call, in Markdown: the start of the reference in each of its forms.

export const introduction = `Organizations are trees of groups. Groups hold identities, role bindings, repos, advisories and more; a role bound to an identity in a group reaches everything below it. Every call of the reference also exists over gRPC, on the same port.

**Names.** \`v2\` is another name of \`v2beta1\` in every path: \`/iam/v2/groups\` is \`/iam/v2beta1/groups\`. The calls of v1 stay available beside it.

**Uids.** A \`uid\` is a path: that of its parent, a slash and a segment of its own. In a URL its slashes may stand as they are or as \`%2F\`. v1 calls it \`id\`.

**Spelling.** Fields of bodies and parameters of queries are taken in JSON spelling (\`pageSize\`) and in that of the protos (\`page_size\`). Unknown ones are ignored, except in the body of a PATCH. 64-bit numbers are text. Times are RFC 3339 in UTC.

**Lists.** A page holds 50 results unless \`pageSize\` says otherwise, 200 at most. \`nextPageToken\` leads to the next and is absent on the last. \`totalCount\` counts all pages. \`orderBy\` takes field names, each optionally followed by \`desc\`, separated by commas. A page token is good for three days; later the list starts anew.

**Changes.** PATCH changes the fields that are in the body, or only those that \`updateMask\` names, separated by commas. PUT, in v1, replaces the whole.

**Access.** Calls take \`Authorization: Bearer\` with an access token, good for an hour, unless they say that they are open. What a caller needs is said with each call, as capabilities: all of them must be held in the place that the call names, or above it. Where they are not, the answer is 403, whether or not there is anything; lists show what the caller may see and nothing else.

**Errors.** Every error is JSON with \`code\`, \`message\` and \`details\` (google.rpc.Status).`
