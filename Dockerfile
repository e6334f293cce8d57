# The server and its client, without what only development needs.
FROM node:24-slim AS install
WORKDIR /stemma
COPY package.json package-lock.json ./
COPY api/package.json api/
COPY server/package.json server/
COPY cli/package.json cli/
# The image brings the Node that the repository otherwise installs, and needs no PostgreSQL for tests.
RUN npm ci --omit=dev --omit=optional --ignore-scripts --workspace=@stemma/server --workspace=@stemma/cli

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
RUN ln -s /stemma/server/bin/stemmad.mjs /usr/local/bin/stemmad \
 && ln -s /stemma/cli/bin/stemma.mjs /usr/local/bin/stemma \
 && install -d -o node -g node -m 700 /data
USER node
VOLUME /data
EXPOSE 8080
# The certificate of a server with TLS is for its name, and not for this address.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["node", "-e", "\
const get = require(process.env.STEMMA_TLS_CERT ? 'https' : 'http').get; \
const place = { host: '127.0.0.1', port: process.env.PORT || 8080, path: '/healthz', rejectUnauthorized: false }; \
get(place, ({ statusCode }) => process.exit(statusCode === 200 ? 0 : 1)).on('error', () => process.exit(1))"]
ENTRYPOINT ["stemmad"]
CMD ["serve"]
