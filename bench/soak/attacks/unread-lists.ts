// Requests a list from API v1 whose response has 12 MB, and does not read the response.
import type { Attack } from './attack.ts'
import { closed, httpGet } from './sockets.ts'

export const unreadLists: Attack = {
  parallel: 24,
  async round(target) {
    await target.take(1)
    const socket = await target.open()
    socket.pause()
    socket.write(httpGet('/iam/v1/groups', `Authorization: ${target.tenant.authorization}`))
    await closed(socket)
  },
}
