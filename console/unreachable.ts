// The methods of the API (v2beta1) that no page of the console calls, with the reason. e2e/console/reachable.test.ts fails
// for a method that is neither called nor listed here, and for a line that is no longer needed.

export const unreachable: Record<string, string> = {
  'externalGroupRoleMappings.getExternalGroupRoleMapping':
    'The page of the provider shows all fields of its mappings.',
  'ping.ping': 'It is for programs that monitor the server.',
  'people.getPerson': 'The list shows everything about a person.',
}
