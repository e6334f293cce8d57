# The server and its command line client, without development dependencies.
FROM node:24-slim AS install
WORKDIR /stemma
COPY package.json package-lock.json ./
COPY api/package.json api/
COPY server/package.json server/
COPY cli/package.json cli/
# The base image has Node, so the optional Node package is not installed. Nor is PostgreSQL, which only tests need.
RUN npm ci --omit=dev --omit=optional --ignore-scripts --workspace=@stemma/server --workspace=@stemma/cli

# The bundles of the server, of the web console and of the command line client.
FROM node:24-slim AS build
WORKDIR /stemma
COPY package.json package-lock.json ./
COPY api/package.json api/
COPY cli/package.json cli/
COPY console/package.json console/
COPY server/package.json server/
RUN npm ci --ignore-scripts --workspace=@stemma/cli --workspace=@stemma/console --workspace=@stemma/server
COPY api api
COPY cli cli
COPY console console
COPY server server
RUN node console/build/main.ts /assets \
 && node server/build/main.ts /bundle \
 && node cli/build/main.ts /cli-bundle

FROM node:24-slim
WORKDIR /stemma
ENV NODE_ENV=production \
    HOST=0.0.0.0 \
    STEMMA_DATA_DIR=/data
COPY --from=install /stemma/node_modules node_modules
COPY package.json LICENSE ./
COPY scripts/pinned-node.mjs scripts/
COPY api api
COPY cli cli
COPY server server
COPY docs docs
COPY --from=build /assets server/console/assets
COPY --from=build /bundle server/bundle
COPY --from=build /cli-bundle cli/bundle
RUN ln -s /stemma/server/bin/stemmad.mjs /usr/local/bin/stemmad \
 && ln -s /stemma/cli/bin/stemma.mjs /usr/local/bin/stemma \
 && install -d -o node -g node -m 700 /data
USER node
VOLUME /data
EXPOSE 8080
# The certificate of a TLS server names its host and not 127.0.0.1, so it is not checked here.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["node", "-e", "\
const get = require(process.env.STEMMA_TLS_CERT ? 'https' : 'http').get; \
const options = { host: '127.0.0.1', port: process.env.PORT || 8080, path: '/healthz', rejectUnauthorized: false }; \
get(options, ({ statusCode }) => process.exit(statusCode === 200 ? 0 : 1)).on('error', () => process.exit(1))"]
ENTRYPOINT ["stemmad"]
CMD ["serve"]
