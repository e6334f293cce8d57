// The schema of groups (RFC 7643 section 4.2).
import { attribute, complex } from './attribute.ts'
import type { ResourceType } from './schema.ts'

export const groupType: ResourceType = {
  name: 'Group',
  description: 'Groups of people of the organization.',
  endpoint: 'Groups',
  schema: {
    id: 'urn:ietf:params:scim:schemas:core:2.0:Group',
    name: 'Group',
    description: 'A group of people of the organization.',
    attributes: [
      attribute('displayName', 'The name of the group.', { required: true }),
      complex(
        'members',
        'The users of the group.',
        [
          attribute('value', 'The id of the user.', { mutability: 'immutable', caseExact: true }),
          attribute('$ref', 'The URL of the user.', {
            ...{ type: 'reference', referenceTypes: ['User'], mutability: 'immutable', caseExact: true },
          }),
          attribute('type', 'Always User.', { mutability: 'immutable', canonicalValues: ['User'] }),
        ],
        { multiValued: true },
      ),
    ],
  },
  extensions: [],
}
