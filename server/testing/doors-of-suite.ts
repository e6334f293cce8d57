// Doors and clients of the tests in a suite, which are closed after each test.
import { afterEach } from 'node:test'
import type { RawClient } from './raw-http.ts'
import { rawClient } from './raw-http.ts'
import type { TestDoor, TestDoorOptions } from './test-door.ts'
import { openTestDoor } from './test-door.ts'

/** To be called in a suite. After each test, everything in `closers` is closed, the newest first. */
export function doorsOfSuite() {
  const closers: (() => void)[] = []
  afterEach(() => {
    for (const close of closers.splice(0).reverse()) close()
  })
  return {
    closers,
    async openDoor(options: TestDoorOptions = {}): Promise<TestDoor> {
      const door = await openTestDoor(options)
      closers.push(() => door.close())
      return door
    },
    async connect({ port }: TestDoor, isTls = false): Promise<RawClient> {
      const client = await rawClient(port, isTls)
      closers.push(() => client.close())
      return client
    },
  }
}
