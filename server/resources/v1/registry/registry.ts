import { Registry } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { defineService } from '../../resource.ts'
import type { V1Dependencies } from '../dependencies.ts'
import { deploymentMethods } from './deployments.ts'
import { imageMethods } from './images.ts'
import { packageVersionMethods } from './package-versions.ts'
import { repoMethods } from './repos.ts'
import { sbomMethods } from './sboms.ts'
import { settingsMethods } from './settings.ts'
import { tagHistoryMethods } from './tag-history.ts'
import { tagMethods } from './tags.ts'
import { tagsSummaryMethods } from './tags-summary.ts'

export const registryV1 = defineService({
  service: Registry,
  methods: (deps: V1Dependencies) => ({
    ...repoMethods(deps),
    ...tagMethods(deps),
    ...tagHistoryMethods(deps),
    ...tagsSummaryMethods(deps),
    ...imageMethods(deps),
    ...sbomMethods(deps),
    ...deploymentMethods(deps),
    ...settingsMethods(deps),
    ...packageVersionMethods(deps),
  }),
})
