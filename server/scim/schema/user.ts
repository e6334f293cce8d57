// The schema of users (RFC 7643 section 4.1) and its extension for enterprises (section 4.3).
import { attribute, complex, plural } from './attribute.ts'
import type { ResourceType, Schema } from './schema.ts'

const userSchema: Schema = {
  id: 'urn:ietf:params:scim:schemas:core:2.0:User',
  name: 'User',
  description: 'A person of the organization.',
  attributes: [
    attribute('userName', 'The name by which the client knows the person, unique in the identity provider.', {
      ...{ required: true, uniqueness: 'server' },
    }),
    complex('name', 'The parts of the name.', [
      attribute('formatted', 'The whole name.'),
      attribute('familyName', 'The family name.'),
      attribute('givenName', 'The given name.'),
      attribute('middleName', 'The middle name.'),
      attribute('honorificPrefix', 'The title before the name.'),
      attribute('honorificSuffix', 'The suffix after the name.'),
    ]),
    attribute('displayName', 'The name as other people see it.'),
    attribute('nickName', 'The casual name.'),
    attribute('profileUrl', 'The URL of a page about the person.', {
      ...{ type: 'reference', referenceTypes: ['external'], caseExact: true },
    }),
    attribute('title', 'The job title.'),
    attribute('userType', 'The relation to the organization, such as Employee.'),
    attribute('preferredLanguage', 'The language of pages and messages.'),
    attribute('locale', 'The locale for dates and numbers.'),
    attribute('timezone', 'The time zone.'),
    attribute('active', 'Whether the person may sign in. The default is true.', { type: 'boolean' }),
    plural('emails', 'The e-mail addresses. They do not identify the person.', ['work', 'home', 'other']),
    plural('phoneNumbers', 'The telephone numbers.', ['work', 'home', 'mobile', 'fax', 'pager', 'other']),
    plural('ims', 'The addresses for instant messages.', []),
    plural('photos', 'The URLs of pictures.', ['photo', 'thumbnail'], {
      ...{ type: 'reference', referenceTypes: ['external'], caseExact: true },
    }),
    complex(
      'addresses',
      'The postal addresses.',
      [
        attribute('formatted', 'The whole address.'),
        attribute('streetAddress', 'The street and number.'),
        attribute('locality', 'The city.'),
        attribute('region', 'The state or region.'),
        attribute('postalCode', 'The postal code.'),
        attribute('country', 'The country.'),
        attribute('type', 'A label of the address.', { canonicalValues: ['work', 'home', 'other'] }),
        attribute('primary', 'Whether this is the preferred address.', { type: 'boolean' }),
      ],
      { multiValued: true },
    ),
    complex(
      'groups',
      'The SCIM groups of the person. Changed only by changing the groups.',
      [
        attribute('value', 'The id of the group.', { mutability: 'readOnly', caseExact: true }),
        attribute('$ref', 'The URL of the group.', {
          ...{ type: 'reference', referenceTypes: ['Group'], mutability: 'readOnly', caseExact: true },
        }),
        attribute('display', 'The name of the group.', { mutability: 'readOnly' }),
        attribute('type', 'Always direct.', { mutability: 'readOnly', canonicalValues: ['direct'] }),
      ],
      { multiValued: true, mutability: 'readOnly' },
    ),
    plural('entitlements', 'Entitlements of the person. They grant no access here.', []),
    plural('roles', 'Roles of the person. They grant no access here.', []),
    plural('x509Certificates', 'The certificates of the person.', [], { type: 'binary', caseExact: true }),
  ],
}

const enterpriseUser: Schema = {
  id: 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User',
  name: 'EnterpriseUser',
  description: 'Attributes of people who work for an enterprise.',
  attributes: [
    attribute('employeeNumber', 'The number of the employee.'),
    attribute('costCenter', 'The cost center.'),
    attribute('organization', 'The organization.'),
    attribute('division', 'The division.'),
    attribute('department', 'The department.'),
    complex('manager', 'The manager.', [
      attribute('value', 'The id of the manager.', { caseExact: true }),
      attribute('$ref', 'The URL of the manager.', {
        ...{ type: 'reference', referenceTypes: ['User'], caseExact: true },
      }),
      attribute('displayName', 'The name of the manager.'),
    ]),
  ],
}

export const userType: ResourceType = {
  name: 'User',
  description: 'People of the organization.',
  endpoint: 'Users',
  schema: userSchema,
  extensions: [enterpriseUser],
}
