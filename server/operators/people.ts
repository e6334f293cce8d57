// The people of the server, for its operators. `stemmad users` does the same with the same functions.
import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ListPeopleRequest } from '@stemma/api/gen/platform/server/v2beta1/person_pb.ts'
import {
  ListPeopleResponseSchema,
  PasswordLinkSchema,
  PeopleService,
  PersonSchema,
} from '@stemma/api/gen/platform/server/v2beta1/person_pb.ts'
import { failedPrecondition, notFound } from '../aip/errors.ts'
import type { Administration } from '../auth/administration/administration.ts'
import { openAdministration } from '../auth/administration/administration.ts'
import { findPerson } from '../auth/administration/find-person.ts'
import type { ListedPerson } from '../auth/administration/list-people.ts'
import { countPeople, listPeople } from '../auth/administration/list-people.ts'
import { passwordLinkHours } from '../auth/login/accounts.ts'
import type { WriteGrants } from '../policy/admit.ts'
import { admitToRead, admitToWrite } from '../policy/admit.ts'
import { requireFreshSignIn } from '../policy/fresh-sign-in.ts'
import { removePerson } from '../resources/remove-person.ts'
import { defineService } from '../resources/resource.ts'
import type { Call } from '../rpc/call.ts'
import type { Work } from '../store/work.ts'
import type { Reply } from '../wire/reply.ts'
import { emptyReply, messageReply } from '../wire/reply.ts'
import type { OperatorDependencies } from './dependencies.ts'
import { readPage } from './page.ts'

type PersonRequest = Call['request'] & { uid: string }

export const peopleService = defineService({
  service: PeopleService,
  methods: (deps: OperatorDependencies) => {
    const { store, now, random, settings, operating } = deps
    const { authUrl, freshSignInMs } = settings
    const administration = openAdministration({ states: operating.states, authUrl, now, random })

    /** Runs a change of a person, in one transaction. */
    const change = (
      { demand, request: { uid }, deadline }: Call<PersonRequest>,
      work: (access: WriteGrants, uid: string) => Work<Reply>,
    ) =>
      store.write(function* () {
        const access = yield* admitToWrite(demand)
        requireFreshSignIn(access.caller, freshSignInMs, now())
        if (uid === access.caller.identity) throw ownAccount()
        yield* findPerson(uid)
        return yield* work(access, uid)
      }, deadline)

    /** A change that returns the person. */
    const changeBy = (run: Administration['disable']) => (call: Call<PersonRequest>) =>
      change(call, function* (access, uid) {
        yield* run(access, uid)
        return yield* readPerson(uid)
      })

    return {
      listPeople: (call: Call<ListPeopleRequest>) => store.read(() => readPeople(deps, call)),

      getPerson: ({ demand, request }: Call<PersonRequest>) =>
        store.read(function* () {
          yield* admitToRead(demand)
          return yield* readPerson(request.uid)
        }),

      disablePerson: changeBy(administration.disable),
      enablePerson: changeBy(administration.enable),
      signOutPerson: changeBy(administration.signOut),
      resetPersonSecondFactors: changeBy(administration.resetSecondFactors),

      resetPersonPassword: (call: Call<PersonRequest>) =>
        change(call, function* (access, uid) {
          const { link: url } = yield* administration.resetPassword(access, uid)
          const expireTime = timestampFromMs(now() + passwordLinkHours * 60 * 60 * 1000)
          return messageReply(PasswordLinkSchema, create(PasswordLinkSchema, { url, expireTime }))
        }),

      removePerson: (call: Call<PersonRequest>) =>
        change(call, function* (access, uid) {
          yield* administration.remove({ remove: removePerson }, access, uid)
          return emptyReply
        }),
    }
  },
})

/** An operator who locks themselves out could only be helped on the machine of the server. */
const ownAccount = () =>
  failedPrecondition(
    'OWN_ACCOUNT',
    'operators cannot change their own account here; ask another operator, or change it at /console/account',
  )

function* readPeople(deps: OperatorDependencies, call: Call<ListPeopleRequest>): Work<Reply> {
  yield* admitToRead(call.demand)
  const { search, disabled: isDisabled, operators: isOperator } = call.request
  const filter = { search, isDisabled, isOperator }
  // Called first: if the count is expensive, it throws, and another thread runs the whole call.
  const totalCount = BigInt(yield* countPeople(filter, deps.maxListRows))
  const keyOf = ({ name, identity }: ListedPerson) => ({ name, uid: identity })
  const page = yield* readPage(deps, call, keyOf, ({ after, ...rest }) =>
    listPeople({ ...filter, ...rest, after: after && { name: after.name, identity: after.uid } }),
  )
  const { rows, nextPageToken, skipped } = page
  const people = rows.map(personMessage)
  return messageReply(
    ListPeopleResponseSchema,
    create(ListPeopleResponseSchema, { people, nextPageToken, totalCount, skipped }),
  )
}

function* readPerson(uid: string): Work<Reply> {
  const [person] = yield* listPeople({ identity: uid, limit: 1 })
  if (!person) throw notFound(PersonSchema.typeName, uid)
  return messageReply(PersonSchema, personMessage(person))
}

const personMessage = (person: ListedPerson) =>
  create(PersonSchema, {
    ...{ uid: person.identity, name: person.name, local: person.hasLocalAccount },
    ...(person.email !== undefined && { email: person.email }),
    ...{ emailVerified: person.email !== undefined && !person.isUnverified, hasPassword: person.hasPassword },
    ...{ passkeys: person.passkeys, authenticatorApp: person.hasAuthenticatorApp },
    ...{ operator: person.isOperator, roleBindings: person.roleBindings },
    ...timesOf(person),
  })

const timesOf = ({ createTime, lastSeenTime, disableTime }: ListedPerson) => ({
  createTime: timestampFromMs(createTime),
  ...(lastSeenTime !== undefined && { lastSeenTime: timestampFromMs(lastSeenTime) }),
  ...(disableTime !== undefined && { disableTime: timestampFromMs(disableTime) }),
})
