// How services are declared. server/resource-list.ts lists the services with a kind, server/services.ts all others.
import type { DescMessage, DescService } from '@bufbuild/protobuf'
import type { Handler, StreamHandler } from '../rpc/call.ts'
import type { Store } from '../store/db.ts'
import type { WriteAccess } from '../store/write-access.ts'
import type { Dependencies } from './dependencies.ts'
import type { Kind } from './kind.ts'

/** One handler for each method of a service. */
export type Methods<S extends DescService> = {
  [name in keyof S['method']]: S['method'][name]['methodKind'] extends 'unary' ? Handler : StreamHandler
}

export type Service<S extends DescService, Deps = Dependencies> = {
  service: S
  methods(deps: Deps): Methods<S>
}

/** The kind of a resource, and the update of its rows at start. */
type Stored<D extends DescMessage> = {
  kind: Kind<D>
  /** Brings stored rows up to date after the migrations, each time the server starts. */
  onStart?(store: Store, access: WriteAccess): Promise<void>
}

/** Any service. Its methods are known only by name. */
export type AnyService<Deps = Dependencies> = {
  service: DescService
  methods(deps: Deps): Readonly<Record<string, Handler | StreamHandler>>
}

export type AnyResource = AnyService & Stored<DescMessage>

/** A service without a kind of its own. Does not compile while a method of the service is missing. */
export const defineService = <S extends DescService, Deps = Dependencies>(
  definition: Service<S, Deps>,
): Service<S, Deps> => definition

/** A kind and its service. Does not compile while a method of the service is missing. */
export const defineResource = <D extends DescMessage, S extends DescService>(
  definition: Service<S> & Stored<D>,
): Service<S> & Stored<D> => definition
