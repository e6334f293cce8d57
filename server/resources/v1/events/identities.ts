// The metadata of the caller in v1.
import { create } from '@bufbuild/protobuf'
import type { IdentityMetadata as V1Metadata } from '@stemma/api/gen/platform/events/identity_pb.ts'
import {
  Identities,
  IdentityMetadataSchema as V1MetadataSchema,
} from '@stemma/api/gen/platform/events/identity_pb.ts'
import type { IdentityMetadata } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { IdentitiesService } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import type { Call } from '../../../rpc/call.ts'
import { defineService } from '../../resource.ts'
import { convertReply } from '../convert-reply.ts'
import type { V1Dependencies } from '../dependencies.ts'
import type { FieldRename } from '../error-fields.ts'
import { renameErrorFields } from '../error-fields.ts'

/** Applied one after the other. */
const renames: FieldRename[] = [
  [/^company$/, 'company_name'],
  [/^updates_opt_in$/, 'updatesOptIn'],
  // In v1, all fields that callers set are in onboarding_questions, except updatesOptIn.
  [/^(?!updatesOptIn$)/, 'onboarding_questions.'],
]

export const eventIdentitiesV1 = defineService({
  service: Identities,
  methods: ({ callV2 }: V1Dependencies) => ({
    updateMetadata(call: Call<V1Metadata>) {
      const identityMetadata = metadataFromV1(call.request)
      const reply = callV2(call, IdentitiesService.method.updateIdentityMetadata, { identityMetadata })
      return convertReply(renameErrorFields(renames, reply), V1MetadataSchema, metadataToV1)
    },
  }),
})

/** The answers to onboarding questions that have the same name in both versions. */
type Answers = Pick<
  IdentityMetadata,
  | 'product'
  | 'jobTitle'
  | 'utmCampaign'
  | 'utmContent'
  | 'utmMedium'
  | 'utmSource'
  | 'utmTerm'
  | 'latestFormSubmitUrl'
  | 'latestInternalReferringUrl'
  | 'hubspotUtk'
  | 'selfServe'
>

function answersOf(answers: Answers): Answers {
  const { product, jobTitle, hubspotUtk, selfServe, latestFormSubmitUrl, latestInternalReferringUrl } =
    answers
  const { utmCampaign, utmContent, utmMedium, utmSource, utmTerm } = answers
  return {
    ...{ product, jobTitle, hubspotUtk, selfServe, latestFormSubmitUrl, latestInternalReferringUrl },
    ...{ utmCampaign, utmContent, utmMedium, utmSource, utmTerm },
  }
}

const metadataFromV1 = ({ onboardingQuestions: answers, updatesOptIn }: V1Metadata) => ({
  updatesOptIn,
  ...(answers && { ...answersOf(answers), company: answers.companyName }),
})

const metadataToV1 = (metadata: IdentityMetadata): V1Metadata => {
  const { name, givenName, familyName, updatesOptIn, company: companyName } = metadata
  return create(V1MetadataSchema, {
    ...{ name, givenName, familyName, updatesOptIn },
    onboardingQuestions: { companyName, ...answersOf(metadata) },
  })
}
