// SPDX-License-Identifier: Apache-2.0
// The details of a vertex of the value flow graph: what it is, and what it reads, writes and hands on.
import { flowOf } from "./flow";
import { shareText } from "./flow_draw";
import type { FlowGraph } from "./flow_graph";
import type { Profile } from "./data";
import * as format from "./format";
import { CallLink, ObjectLink, Path } from "./parts";
import { link } from "./state";

const MOST = 50;

function EdgeList(props: { title: string; graph: FlowGraph; edges: number[]; other: number[] }) {
  const { graph } = props;
  const { bytes, times } = graph.raw.edges;
  if (props.edges.length === 0) return null;
  const sorted = props.edges.slice().sort((a, b) => bytes[b] - bytes[a]);
  return (
    <>
      <h3>{props.title}</h3>
      <ul class="plain">
        {sorted.slice(0, MOST).map((edge) => (
          <li>
            <span class={graph.isWrite(edge) ? "how" : "how is-read"}>{graph.isWrite(edge) ? "" : "R"}</span>
            <span class={graph.isWrite(edge) ? "how is-write" : "how"}>{graph.isWrite(edge) ? "W" : ""}</span>
            <span class="mono">{graph.objectName(edge)}</span>{" "}
            <span class="soft">
              {graph.isBound(edge) ? "at most " : ""}
              {format.bytes(bytes[edge])}
              {times[edge] > 1 ? ` in ${format.count(times[edge])}` : ""}
              {shareText(graph, edge) ? `, ${shareText(graph, edge)}` : ""}
              {graph.isUncertain(edge) ? ", uncertain" : ""}
            </span>{" "}
            <a href={link({ view: "flow", vertex: graph.id(props.other[edge]) })}>
              {graph.name(props.other[edge])} <span class="soft">{graph.place(props.other[edge])}</span>
            </a>
          </li>
        ))}
      </ul>
      {sorted.length > MOST && <p class="soft">and {format.count(sorted.length - MOST)} more</p>}
    </>
  );
}

export function VertexDetail({ profile, id }: { profile: Profile; id: number }) {
  const graph = flowOf(profile);
  const vertex = graph.at(id);
  if (vertex < 0) return <p>Vertex {id} is not in this page.</p>;
  const { vertices, edges } = graph.raw;
  const kind = graph.kind(vertex);
  return (
    <>
      <h2>
        <span class="rank">{id}</span> <span class="mono">{graph.name(vertex)}</span>
      </h2>
      <dl class="facts">
        <dt>kind</dt>
        <dd>{kind}</dd>
        {vertices.calls[vertex] > 0 && (
          <>
            <dt>{kind === "allocation" ? "objects" : "calls"}</dt>
            <dd>
              {format.count(vertices.calls[vertex])}
              {vertices.bytes[vertex] ? `, ${format.bytes(vertices.bytes[vertex])}` : ""}
            </dd>
          </>
        )}
        {vertices.unknown[vertex] > 0 && (
          <>
            <dt>unknown</dt>
            <dd>
              {format.plural(vertices.unknown[vertex], "call")} may access more than was observed: after each, the last writer of every object is
              unknown
            </dd>
          </>
        )}
        {vertices.gpu_ns[vertex] > 0 && !profile.head.simulated && (
          <>
            <dt>on the GPU</dt>
            <dd>{format.ns(vertices.gpu_ns[vertex])}</dd>
          </>
        )}
        {vertices.object[vertex] > 0 && (
          <>
            <dt>first object</dt>
            <dd>
              <ObjectLink number={vertices.object[vertex]} profile={profile} />
            </dd>
          </>
        )}
        {vertices.call[vertex] > 0 && (
          <>
            <dt>first call</dt>
            <dd>
              <CallLink number={vertices.call[vertex]} profile={profile} />
            </dd>
          </>
        )}
      </dl>
      <EdgeList title="Uses what these wrote" graph={graph} edges={graph.entering[vertex]} other={edges.from} />
      <EdgeList title="These use what it wrote" graph={graph} edges={graph.leaving[vertex]} other={edges.to} />
      {vertices.path[vertex] > 0 && (
        <>
          <h3>Called from</h3>
          <Path frames={profile.frames(vertices.path[vertex])} profile={profile} />
        </>
      )}
    </>
  );
}
