import { Advisories } from '@stemma/api/gen/platform/vulnerabilities/v1/advisory_pb.ts'
import { defineService } from '../../resource.ts'
import type { V1Dependencies } from '../dependencies.ts'
import { eventMethods } from './events.ts'
import { listMethods } from './list-advisories.ts'
import { writeMethods } from './write-advisories.ts'

export const advisoriesV1 = defineService({
  service: Advisories,
  methods: (deps: V1Dependencies) => ({
    ...writeMethods(deps),
    ...eventMethods(deps),
    ...listMethods(deps),
  }),
})
