// The environment variables that name the stores of a test run that have all tables and no rows: a folder and a database.
// Tests of `server/store` copy them (../store/test-stores.ts).
export const migratedTemplates = {
  sqlite: 'STEMMA_TEST_MIGRATED_FOLDER',
  postgres: 'STEMMA_TEST_MIGRATED_DATABASE',
} as const
