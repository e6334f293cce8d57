// Methods of v2beta1 that write and cannot only validate (AIP-163), with the reason. Every other writing method has the
// field `validate_only`.

export const unvalidatedMethods: Readonly<Record<string, string>> = {}
