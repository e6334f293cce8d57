// Attributes of SCIM schemas (RFC 7643 sections 2 and 7).

export type AttributeType =
  | ('string' | 'boolean' | 'decimal' | 'integer' | 'dateTime')
  | ('reference' | 'binary' | 'complex')

export type Attribute = {
  name: string
  type: AttributeType
  multiValued: boolean
  description: string
  required: boolean
  caseExact: boolean
  mutability: 'readOnly' | 'readWrite' | 'immutable' | 'writeOnly'
  returned: 'always' | 'never' | 'default' | 'request'
  uniqueness: 'none' | 'server' | 'global'
  canonicalValues?: readonly string[]
  referenceTypes?: readonly string[]
  subAttributes?: readonly Attribute[]
}

type Options = Partial<Omit<Attribute, 'name' | 'description'>>

export const attribute = (name: string, description: string, options: Options = {}): Attribute => ({
  ...{ name, type: 'string', multiValued: false, description, required: false, caseExact: false },
  ...{ mutability: 'readWrite', returned: 'default', uniqueness: 'none' },
  ...options,
})

export const complex = (
  name: string,
  description: string,
  subAttributes: readonly Attribute[],
  options: Options = {},
): Attribute => attribute(name, description, { type: 'complex', subAttributes, ...options })

/** A list of values with the usual sub-attributes (RFC 7643 section 2.4). */
export const plural = (
  name: string,
  description: string,
  canonicalValues: readonly string[],
  value: Options = {},
): Attribute =>
  complex(
    name,
    description,
    [
      attribute('value', 'The value.', value),
      attribute('display', 'The value as people read it.'),
      attribute('type', 'A label of the value.', canonicalValues.length > 0 ? { canonicalValues } : {}),
      attribute('primary', 'Whether this is the preferred value.', { type: 'boolean' }),
    ],
    { multiValued: true },
  )

/** Names of attributes are compared without regard to case (RFC 7643 section 2.1). */
export const findAttribute = (
  attributes: readonly Attribute[] | undefined,
  name: string,
): Attribute | undefined =>
  attributes?.find((candidate) => candidate.name.toLowerCase() === name.toLowerCase())
