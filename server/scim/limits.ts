// Limits of SCIM requests and of the resources of one identity provider.

export const maxBodyBytes = 256 * 1024
/** Resources in a page. */
export const maxPageSize = 200
export const defaultPageSize = 100
/** Members of the groups, or groups of the users, in one page. A page with more is cut off. */
export const maxReferencesInPage = 10_000

export const maxUsers = 100_000
export const maxGroups = 10_000
export const maxMembersOfGroup = 10_000
/** Members of all groups of a provider. Somebody in ten groups counts ten times. */
export const maxMembers = 200_000
/** Bytes of the JSON of all users and groups of a provider. */
export const maxJsonBytes = 256 * 2 ** 20
/** Members that one request may add or remove. */
export const maxMembersInRequest = 1000
/** Characters of the JSON of a stored resource, without members. */
export const maxResourceLength = 64 * 1024
/** Values of one attribute. */
export const maxValues = 100
/** Characters of one value. */
export const maxTextLength = 16 * 1024
/** Characters of `userName`, `externalId` and `displayName`, which are indexed. */
export const maxKeyLength = 512

export const maxFilterLength = 2000
/** Nested parentheses and brackets. */
export const maxFilterDepth = 10
/** Comparisons in a filter. */
export const maxFilterTerms = 50
export const maxOperations = 200
/** Characters that all operations of a PATCH may compare (budget.ts), in one transaction. */
export const maxComparedByPatch = 10_000_000
/** Characters that the filter of a list may compare (budget.ts). */
export const maxComparedByList = 100_000_000
/** Names in `attributes` and `excludedAttributes`. */
export const maxAttributeNames = 100
/** Resources, and characters of their JSON, that a filter or an order without an index may read. */
export const maxScannedResources = 10_000
export const maxScannedLength = 32 * 2 ** 20
/** Characters of the JSON of the resources in a page, without references. A page with more is cut off. */
export const maxPageLength = 4 * 2 ** 20
